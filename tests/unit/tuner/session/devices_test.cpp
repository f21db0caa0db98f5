// A session and its devices: several at once, and such that throttle.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <set>

#include "tests/unit/tuner/session/tune_fixture.h"

namespace tf::session {
namespace {

TEST_F(TuneTest, TakesTheTimeAgainOfADeviceThatThrottledMeanwhile) {
  runner_.throttle_every = 9;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials, 24);
  EXPECT_GT(progress->not_measured, 0);
  for (const auto& record : records()) EXPECT_FALSE(record.device.throttled);
  EXPECT_EQ(runner_.acknowledged, runner_.runs);
}

// One whose trial was lost is tried again, and another of the same code meanwhile.
TEST_F(TuneTest, AcknowledgesWhatItMeasuredOfACodeThatItKnowsMeanwhile) {
  builder_.same_code = builder_.first_has_own_code = true;
  runner_.lose_every = 3;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(records().size(), 4u) << "two codes a task";
  const int measured = runner_.runs - static_cast<int>(progress->not_measured);
  EXPECT_GT(measured, 4) << "else this test shows nothing";
  EXPECT_GE(runner_.acknowledged, measured);
}

// Nobody waits for a turn that is kept by who waits for him.
TEST_F(TuneTest, SearchesAndLearnsInTurnsWithADeviceThatLeavesNoCpu) {
  options_.has_no_cpu = options_.takes_turns = options_.play_off = true;
  options_.budget.trials = 150;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials, 150);
}

// All that are under way are spoiled, and spoiled again: many in a row, but the device answers.
TEST_F(TuneTest, GoesOnWithADeviceThatBeginsToThrottleAndNeverCools) {
  runner_.devices = 16;
  options_.budget.trials = 60;
  runner_.ns_of = [this](const std::string&) {
    if (runner_.runs == 20) runner_.throttle_every = 1;
    return 100'000;
  };
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials, 60);
  EXPECT_GT(progress->not_measured, 24) << "else this test shows nothing";
  EXPECT_EQ(runner_.acknowledged, runner_.runs);
  const auto hot = std::ranges::count_if(records(), [](const auto& each) { return each.device.throttled; });
  EXPECT_GT(hot, 30) << "they count, and say so";
}

TEST_F(TuneTest, BelievesADeviceThatThrottlesAlways) {
  runner_.throttle_every = 1;
  const absl::StatusOr<Progress> progress = run();
  ASSERT_TRUE(progress.ok()) << progress.status();
  EXPECT_EQ(progress->trials, 24);
  EXPECT_EQ(progress->not_measured, 0);
}

// Sixteen devices, so that more waits than is as good as begun, and times that the model can learn.
TEST_F(TuneTest, WithdrawsWhatTheModelFindsHopelessAndProposesTheSameWhateverTheThreadsDo) {
  options_.budget.trials = 400;
  runner_.devices = 16;
  builder_.tells_code = true;
  runner_.ns_of = [](const std::string& schedule) {
    int64_t ns = 10'000;
    for (size_t at = 0; (at = schedule.find("unroll_limit ", at)) != std::string::npos; ++at)
      ns += 100 * std::atoi(schedule.c_str() + at + 13);
    return ns + 1000 * static_cast<int64_t>(schedule.size() % 64);
  };
  std::vector<std::vector<std::string>> told;
  for (const int most_us : {1, 3000}) {
    store_ = database::make_memory_store();
    options_.job_id = store_->add_job({}).value();
    std::atomic<int> next{0};
    runner_.delay = [&] { return std::chrono::microseconds(++next * 7919 % most_us); };
    const absl::StatusOr<Progress> progress = run();
    ASSERT_TRUE(progress.ok()) << progress.status();
    EXPECT_GT(progress->withdrawn, 0);
    std::vector<std::string>& order = told.emplace_back();
    for (const auto& record : records()) order.push_back(record.problem.workload.hex() + record.schedule);
    EXPECT_EQ(order.size(), 400u);
    EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), 400u);
  }
  EXPECT_EQ(told[0], told[1]);
}

}  // namespace
}  // namespace tf::session
