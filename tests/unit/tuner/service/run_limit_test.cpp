#include "tuner/service/farm/run_limit.h"

#include "absl/time/clock.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::service {
namespace {

class CountingRunner final : public measure::Runner {
 public:
  absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const measure::MeasureRequest&) override {
    return absl::UnimplementedError("nothing runs here");
  }
  int slots() const override { return devices; }
  absl::StatusOr<tunefarm::farm::v1::DeviceState> device() override {
    return absl::UnimplementedError("there is no device here");
  }
  double peak_gflops() override { return 0; }
  void cancel() override { ++cancelled; }

  bool cancelled_within(absl::Duration time) const {
    const absl::Time end = absl::Now() + time;
    while (cancelled == 0 && absl::Now() < end) absl::SleepFor(absl::Milliseconds(5));
    return cancelled > 0;
  }

  std::atomic<int> cancelled = 0, devices = 1;
};

constexpr absl::Duration kAWhile = absl::Milliseconds(500);
constexpr absl::Duration kLong = absl::Seconds(20);

TEST(RunLimit, ABudgetThatIsOverdueCancelsTheRunner) {
  const std::atomic<bool> stop = false;
  CountingRunner runner;
  RunLimit limit(stop, runner, {.budget = absl::Milliseconds(10), .budget_grace = absl::Milliseconds(10)});
  EXPECT_TRUE(runner.cancelled_within(kLong));
  EXPECT_TRUE(limit.ended_by_budget());
}

TEST(RunLimit, TimeWithoutADeviceIsNotTheBudgets) {
  const std::atomic<bool> stop = false;
  CountingRunner runner;
  runner.devices = 0;
  RunLimit limit(stop, runner, {.budget = absl::Milliseconds(10), .budget_grace = absl::Milliseconds(10)});
  EXPECT_FALSE(runner.cancelled_within(kAWhile));
  runner.devices = 1;
  EXPECT_TRUE(runner.cancelled_within(kLong));
}

TEST(RunLimit, ADeviceThatStaysAwayTooLongEndsTheJob) {
  const std::atomic<bool> stop = false;
  CountingRunner runner;
  RunLimit limit(stop, runner, {.longest_absence = absl::Milliseconds(300)});
  EXPECT_FALSE(runner.cancelled_within(kAWhile)) << "it is there";
  runner.devices = 0;
  EXPECT_TRUE(runner.cancelled_within(kLong));
  EXPECT_TRUE(limit.ended_by_budget());
}

TEST(RunLimit, AJobOfMinutesWaitsTenForADeviceAndALongOneAsLongAsItsBudget) {
  EXPECT_EQ(limits_of_minutes(1).longest_absence, absl::Minutes(10));
  EXPECT_EQ(limits_of_minutes(60).longest_absence, absl::Minutes(60));
  EXPECT_EQ(limits_of_minutes(0).longest_absence, absl::InfiniteDuration());
}

TEST(RunLimit, AStopThatIsNotObeyedCancelsTheRunner) {
  std::atomic<bool> stop = false;
  CountingRunner runner;
  RunLimit limit(stop, runner, {.drain_grace = absl::Milliseconds(10)});
  EXPECT_FALSE(runner.cancelled_within(kAWhile));
  stop = true;
  EXPECT_TRUE(runner.cancelled_within(kLong));
  EXPECT_FALSE(limit.ended_by_budget());
}

TEST(RunLimit, GracesAreGranted) {
  const std::atomic<bool> stop = true;
  CountingRunner runner;
  {
    RunLimit limit(stop, runner, {.budget = absl::ZeroDuration()});
    EXPECT_FALSE(runner.cancelled_within(kAWhile));
    EXPECT_FALSE(limit.ended_by_budget());
  }
  EXPECT_EQ(runner.cancelled, 0) << "a job that has ended is not cancelled";
}

}  // namespace
}  // namespace tf::service
