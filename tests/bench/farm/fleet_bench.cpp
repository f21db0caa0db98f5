// Trials a second of one fleet on so many boards that are alike, through a real tracker and real agents whose
// trials take 20 ms, where building costs nothing. What the boards could do at most is 50 a second each.

#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/farm/harness.h"
#include "tuner/measure/farm_runner.h"
#include "tuner/measure/fleet_runner.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::farm_test::Process;
using tf::farm_test::program;
using tf::measure::FarmRunner;
using tf::measure::FleetRunner;

constexpr const char* kTrialMs = "20";

class Boards {
 public:
  explicit Boards(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string id = "m" + std::to_string(i);
      agents_.push_back(
          std::make_unique<Process>(std::vector<std::string>{program("farm_test_agent"), endpoint_.text(),
                                                             "box", dir_.file(id), kTrialMs, "", id},
                                    dir_.file("output")));
    }
    tf::measure::FleetOptions options;
    options.target.slots = static_cast<size_t>(count);
    options.open = [this](absl::Duration wait,
                          const auto& on_wait) -> absl::StatusOr<std::unique_ptr<tf::measure::LeasedRunner>> {
      return FarmRunner::connect({.tracker = endpoint_,
                                  .device_key = "box",
                                  .first_wait = wait,
                                  .one_lease = true,
                                  .on_wait = on_wait});
    };
    for (int i = 0; i < 1000 && (!fleet_ || fleet_->slots() < count); ++i) {
      if (!fleet_)
        if (auto fleet = FleetRunner::connect(options); fleet.ok()) fleet_ = *std::move(fleet);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    TF_CHECK(fleet_ != nullptr && fleet_->slots() == count) << "the boards did not come up";
  }
  FleetRunner& fleet() { return *fleet_; }

 private:
  const tf::TemporaryFolder dir_ = *tf::TemporaryFolder::make();
  const tf::rpc::Endpoint endpoint_ = tf::farm_test::free_endpoint();
  Process tracker_{{program("tracker"), "serve", "--listen", endpoint_.text(), "--state",
                    dir_.file("tracker.db"), "--log-level", "warning"},
                   dir_.file("output")};
  std::vector<std::unique_ptr<Process>> agents_;
  std::unique_ptr<FleetRunner> fleet_;
};

// Each iteration is 40 trials a board, two of them on their way to each at any time.
void BM_FleetTrials(benchmark::State& state) {
  const auto boards = static_cast<int>(state.range(0));
  Boards made(boards);
  std::atomic<int> next = 0;
  int64_t trials = 0;
  for (auto _ : state) {
    const int end = next + 40 * boards;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2 * boards; ++i) {
      threads.emplace_back([&] {
        const farm::Trial trial;
        for (int number = next++; number < end; number = next++) {
          const std::string candidate = std::string(20'000, 'c') + std::to_string(number);
          const auto result = made.fleet().run(tf::farm_test::request(trial, candidate, "reference"));
          TF_CHECK(result.ok()) << result.status();
          made.fleet().acknowledge(*result);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    trials += 40 * boards;
  }
  state.counters["trials"] = benchmark::Counter(static_cast<double>(trials), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_FleetTrials)->Arg(1)->Arg(8)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
