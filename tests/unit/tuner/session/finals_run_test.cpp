#include "tuner/session/finals/finals_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compiler/driver/wire.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/tuner/session/tune_fixture.h"
#include "tuner/session/finals/finals.h"

namespace tf::session {
namespace {

// Two finalists with the same schedule: the pipeline does not mind.
class FinalsRun : public TuneTest {
 protected:
  std::vector<Played> play(const FinalsLimits& limits) {
    std::vector<Played> ranking;
    FinalsListener listener;
    listener.decided = [&](size_t task_finals, std::vector<Played> all) {
      EXPECT_EQ(task_finals, 0u);
      ranking = std::move(all);
      return absl::OkStatus();
    };
    listener.spoiled = [this](const auto&, const auto&) { ++spoiled_; };
    EXPECT_TRUE(run_finals(pipeline_, all_finals_, limits, listener, kFirstTicket).ok());
    return ranking;
  }

  // A device that was steady.
  void begin_to_throttle() {
    farm::TrialResult cool;
    cool.set_outcome(farm::OUTCOME_OK);
    cool.mutable_device()->set_fingerprint(runner_.fingerprint);
    EXPECT_FALSE(throttling_.spoils({.result = std::make_shared<farm::TrialResult>(cool)}));
    runner_.throttle_every = 1;
  }

  // The one that had begun; its trials were not made again.
  void expect_one_round(const std::vector<Played>& ranking) const {
    ASSERT_EQ(ranking.size(), 2u);
    for (const Played& played : ranking) {
      ASSERT_EQ(played.trials.size(), 1u);
      EXPECT_TRUE(played.trials.front().device.throttled);
    }
    EXPECT_EQ(spoiled_, 0);
  }

  const std::string target_ = options_.target.text();
  using BuildRequest = tunefarm::kernel::v1::BuildRequest;
  const Finalist finalist_{.request = std::make_shared<const BuildRequest>(driver::kernel_request(
                               tasks_[0].kernel, target_,
                               schedule::to_string(recipes::default_schedule(
                                   {.workload = tasks_[0].kernel.workload, .target = options_.target}))))};
  const std::vector<TaskFinals> all_finals_ = {{.task = 0, .finalists = {finalist_, finalist_}}};
  Throttling throttling_;
  static constexpr uint64_t kFirstTicket = 100;
  int spoiled_ = 0;
  Pipeline pipeline_{builder_,
                     runner_,
                     {.tasks = {{std::make_shared<const BuildRequest>(
                          driver::reference_request(tasks_[0].kernel, target_))}}}};
};

TEST_F(FinalsRun, BeginsNoRoundAfterTheDeadline) {
  EXPECT_TRUE(play({.stop = stop_, .is_late = [] { return true; }, .throttling = throttling_}).empty());
  EXPECT_EQ(runner_.runs, 0);
  const std::vector<Played> ranking = play({.stop = stop_, .throttling = throttling_});
  ASSERT_EQ(ranking.size(), 2u);
  EXPECT_EQ(ranking[0].results.size(), Finals::kRounds);
}

TEST_F(FinalsRun, MakesATrialAgainThatWasLostOnItsWay) {
  runner_.lose_every = 5;
  const std::vector<Played> ranking = play({.stop = stop_, .throttling = throttling_});
  ASSERT_EQ(ranking.size(), 2u);
  for (const Played& played : ranking)
    EXPECT_EQ(played.trials.size(), static_cast<size_t>(Finals::kRounds)) << "nobody is out";
  EXPECT_GT(spoiled_, 0);
}

TEST_F(FinalsRun, LeavesOutWhomNoDeviceCanReach) {
  runner_.lose_every = 1;
  EXPECT_TRUE(play({.stop = stop_, .throttling = throttling_}).empty());
  EXPECT_EQ(runner_.runs, 2 * kMaxTries);
}

// Of many that are short, too, somebody may look on.
TEST_F(FinalsRun, TellsOfEachResultThatItGoesOn) {
  int told = 0;
  play({.stop = stop_, .throttling = throttling_, .meanwhile = [&] { ++told; }});
  EXPECT_GE(told, runner_.runs);
  EXPECT_GT(runner_.runs, 0);
}

// Else the device would measure no more, and the final re-measurements wait for each other for ever.
TEST_F(FinalsRun, KeepsFewerResultsThanItsDeviceWaitsFor) {
  const std::vector<TaskFinals> all_finals(
      6, {.task = 0, .finalists = std::vector(Finals::kFinalists, finalist_)});
  std::vector<size_t> order;
  int acknowledged = 0, most_kept = 0;
  const auto decided = [&](size_t task_finals, const std::vector<Played>& ranking) {
    order.push_back(task_finals);
    most_kept = std::max(most_kept, runner_.runs - acknowledged);
    for (const Played& played : ranking) acknowledged += static_cast<int>(played.results.size());
    return absl::OkStatus();
  };
  const FinalsLimits limits{.stop = stop_, .throttling = throttling_};
  ASSERT_TRUE(run_finals(pipeline_, all_finals, limits, {.decided = decided}).ok());
  std::ranges::sort(order);
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(acknowledged, runner_.runs);
  EXPECT_GT(acknowledged, static_cast<int>(measure::kMostUnacknowledged)) << "else this test shows nothing";
  EXPECT_LT(most_kept, static_cast<int>(measure::kMostUnacknowledged));
}

TEST_F(FinalsRun, EndsAtTheFirstErrorOfWhoIsTold) {
  const std::vector<TaskFinals> all_finals(3, all_finals_.front());
  int told = 0;
  const auto decided = [&](size_t, const std::vector<Played>&) {
    ++told;
    return absl::DataLossError("the disk is full");
  };
  const FinalsLimits limits{.stop = stop_, .throttling = throttling_};
  EXPECT_EQ(run_finals(pipeline_, all_finals, limits, {.decided = decided}).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(told, 1);
}

// Else the device comes to measure no more.
TEST_F(FinalsRun, LetsGoWhatIsNoneOfIts) {
  Work under_way;
  under_way.ticket = kFirstTicket - 1;
  under_way.request = finalist_.request;
  under_way.priority = Priority::kInFull;
  std::atomic<bool> has_begun{false};
  runner_.delay = [&] {
    has_begun = true;
    return std::chrono::microseconds(0);
  };
  pipeline_.submit(std::move(under_way));
  while (!has_begun) std::this_thread::yield();
  const std::vector<Played> ranking = play({.stop = stop_, .throttling = throttling_});
  EXPECT_EQ(runner_.acknowledged, 1) << "its own are acknowledged by whoever is told of them";
  ASSERT_EQ(ranking.size(), 2u);
  EXPECT_EQ(ranking[0].results.size() + ranking[1].results.size() + 1, static_cast<size_t>(runner_.runs));
}

TEST_F(FinalsRun, MakesNoTrialAgainOnceItIsToStop) {
  begin_to_throttle();
  runner_.stop_after = 1;
  runner_.stop = &stop_;
  expect_one_round(play({.stop = stop_, .throttling = throttling_, .retry_delay = absl::Hours(1)}));
}

// Both trials wait by then, or will.
TEST_F(FinalsRun, WaitsForNoDeviceToCoolOnceItIsToStop) {
  begin_to_throttle();
  const auto began = std::chrono::steady_clock::now();
  std::thread user([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop_ = true;
  });
  expect_one_round(play({.stop = stop_, .throttling = throttling_, .retry_delay = absl::Hours(1)}));
  user.join();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

TEST_F(FinalsRun, WaitsForNoDeviceToCoolBeyondTheDeadline) {
  begin_to_throttle();
  const auto began = std::chrono::steady_clock::now();
  expect_one_round(play(
      {.stop = stop_,
       .is_late = [&] { return std::chrono::steady_clock::now() >= began + std::chrono::milliseconds(500); },
       .throttling = throttling_,
       .retry_delay = absl::Hours(1)}));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

}  // namespace
}  // namespace tf::session
