#include "tuner/measure/retrying_runner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "proto/farm/v1/trial.pb.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::measure::MeasureRequest;
using tf::measure::RetryingRunner;
using tf::measure::RetryOptions;

// Fails `failures` times with `status`, then measures.
class FlakyRunner final : public tf::measure::Runner {
 public:
  FlakyRunner(int failures, absl::Status status) : failures_(failures), status_(std::move(status)) {}
  absl::StatusOr<farm::TrialResult> run(const MeasureRequest&) override {
    if (++runs <= failures_) return status_;
    farm::TrialResult result;
    result.set_outcome(farm::OUTCOME_CRASHED);
    return result;
  }
  void acknowledge(const farm::TrialResult&) override { ++acknowledged; }
  int slots() const override { return 3; }
  absl::StatusOr<farm::DeviceState> device() override { return farm::DeviceState(); }
  void cancel() override { cancelled = true; }
  int runs = 0;
  int acknowledged = 0;
  bool cancelled = false;

 private:
  int failures_;
  absl::Status status_;
};

constexpr RetryOptions kQuick = {
    .attempts = 3, .backoff = {.first = absl::Milliseconds(1), .longest = absl::Milliseconds(2)}};

TEST(RetryingRunner, TriesAgainWhatCouldNotBeMeasured) {
  for (const absl::Status& status : {absl::UnavailableError("x"), absl::AbortedError("x"),
                                     absl::DeadlineExceededError("x"), absl::ResourceExhaustedError("x")}) {
    FlakyRunner flaky(2, status);
    EXPECT_TRUE(RetryingRunner(flaky, kQuick).run({}).ok()) << status;
    EXPECT_EQ(flaky.runs, 3);
  }
}

TEST(RetryingRunner, GivesTheLastStatusWhenAttemptsRunOut) {
  FlakyRunner flaky(99, absl::UnavailableError("gone"));
  EXPECT_EQ(RetryingRunner(flaky, kQuick).run({}).status(), absl::UnavailableError("gone"));
  EXPECT_EQ(flaky.runs, 3);
}

TEST(RetryingRunner, NeitherRepeatsOutcomesNorWhatWillNotGetBetter) {
  FlakyRunner crashing(0, absl::OkStatus());
  EXPECT_EQ(RetryingRunner(crashing, kQuick).run({})->outcome(), farm::OUTCOME_CRASHED);
  EXPECT_EQ(crashing.runs, 1);
  FlakyRunner refusing(9, absl::InvalidArgumentError("no"));
  EXPECT_EQ(RetryingRunner(refusing, kQuick).run({}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refusing.runs, 1);
}

TEST(RetryingRunner, PassesAcknowledgementsOn) {
  FlakyRunner flaky(0, absl::OkStatus());
  RetryingRunner(flaky, kQuick).acknowledge({});
  EXPECT_EQ(flaky.acknowledged, 1);
}

TEST(RetryingRunner, CancelEndsTheWaitBetweenAttempts) {
  FlakyRunner flaky(99, absl::UnavailableError("gone"));
  RetryingRunner runner(
      flaky, {.attempts = 3, .backoff = {.first = absl::Seconds(100), .longest = absl::Seconds(200)}});
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    runner.cancel();
  });
  EXPECT_EQ(runner.run({}).status().code(), absl::StatusCode::kCancelled);
  canceller.join();
  EXPECT_TRUE(flaky.cancelled);
}

}  // namespace
