// A fleet of leases on several agents, over real connections.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.pb.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/harness.h"
#include "tests/farm/wait_until.h"
#include "tracker/service/daemon.h"
#include "tuner/measure/farm_runner.h"
#include "tuner/measure/fleet_runner.h"

namespace tf::farm_test {
namespace {

using measure::FleetRunner;
using tunefarm::farm::v1::Trial;
using tunefarm::farm::v1::TrialResult;

class FleetOfAgents : public testing::Test {
 protected:
  void SetUp() override {
    auto daemon = tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir_.file("tracker.db")});
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }
  void add_agents(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string id = absl::StrCat("m", agents_.size());
      agents_.push_back(std::make_unique<AgentThread>(
          agent::AgentOptions{.tracker = daemon_->endpoint(), .id = id, .state_dir = dir_.file(id)},
          std::chrono::milliseconds(5)));
    }
  }
  std::unique_ptr<FleetRunner> connect(size_t slots) {
    measure::FleetOptions options;
    options.target.slots = slots;
    options.open = [this](absl::Duration wait,
                          const auto& on_wait) -> absl::StatusOr<std::unique_ptr<measure::LeasedRunner>> {
      return measure::FarmRunner::connect({.tracker = daemon_->endpoint(),
                                           .device_key = "box",
                                           .first_wait = wait,
                                           .one_lease = true,
                                           .on_wait = on_wait});
    };
    std::unique_ptr<FleetRunner> fleet;
    EXPECT_TRUE(wait_until([&] {
      auto made = FleetRunner::connect(options);
      if (made.ok()) fleet = *std::move(made);
      return fleet != nullptr;
    }));
    return fleet;
  }
  // How many trials each slot measured, of so many by twice as many threads as there are agents.
  std::map<std::string, int> measure(FleetRunner& fleet, int trials, int first = 0) {
    std::mutex mutex;
    std::map<std::string, int> by_slot;
    std::atomic<int> next = first;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 2 * agents_.size(); ++i) {
      threads.emplace_back([&] {
        for (int number = next++; number < first + trials; number = next++) {
          const Trial trial;
          const absl::StatusOr<TrialResult> result =
              fleet.run(request(trial, absl::StrCat("candidate", number)));
          ASSERT_TRUE(result.ok()) << result.status();
          EXPECT_EQ(result->detail(), absl::StrCat("candidate", number));
          fleet.acknowledge(*result);
          const std::scoped_lock lock(mutex);
          ++by_slot[result->slot()];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return by_slot;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  std::unique_ptr<tracker::Daemon> daemon_;
  std::vector<std::unique_ptr<AgentThread>> agents_;
};

TEST_F(FleetOfAgents, MeasuresOnAllOfThem) {
  add_agents(3);
  const auto fleet = connect(8);
  ASSERT_TRUE(wait_until([&] { return fleet->slots() == 3; }));
  const std::map<std::string, int> by_slot = measure(*fleet, 60);
  EXPECT_EQ(by_slot.size(), 3u);
}

TEST_F(FleetOfAgents, GivesSlotsToAnotherFleetAndGoesOn) {
  add_agents(4);
  const auto first = connect(4);
  ASSERT_TRUE(wait_until([&] { return first->slots() == 4; }));
  first->set_target({.slots = 2});
  const auto second = connect(2);
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(wait_until([&] { return second->slots() == 2; }));
  EXPECT_EQ(first->slots(), 2);
  const std::map<std::string, int> ones = measure(*first, 20), others = measure(*second, 20, 100);
  EXPECT_EQ(ones.size(), 2u);
  EXPECT_EQ(others.size(), 2u);
  for (const auto& [slot, trials] : ones) EXPECT_FALSE(others.contains(slot)) << slot;
}

TEST_F(FleetOfAgents, MeasuresEveryTrialThoughAnAgentGoes) {
  add_agents(3);
  const auto fleet = connect(3);
  ASSERT_TRUE(wait_until([&] { return fleet->slots() == 3; }));
  std::thread going([&] {
    wait_until([&] { return agents_[1]->executor().begun() > 3; });
    agents_[1]->stop();
  });
  const std::map<std::string, int> by_slot = measure(*fleet, 200);
  going.join();
  int all = 0;
  for (const auto& [slot, trials] : by_slot) all += trials;
  EXPECT_EQ(all, 200);
  EXPECT_TRUE(wait_until([&] { return fleet->slots() == 2; }));
}

}  // namespace
}  // namespace tf::farm_test
