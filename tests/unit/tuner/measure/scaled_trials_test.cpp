#include "tuner/measure/scaled_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/farm/v1/trial.pb.h"

namespace tf::measure {
namespace {

using tunefarm::farm::v1::DeviceState;
using tunefarm::farm::v1::OUTCOME_CRASHED;
using tunefarm::farm::v1::OUTCOME_OK;
using tunefarm::farm::v1::Trial;
using tunefarm::farm::v1::TrialResult;

constexpr int64_t kNs = 100'000;  // of each kernel, on a device that is as fast as the first

// A device that takes `slowness` times as long as the first one.
class FakeDevice final : public Runner {
 public:
  explicit FakeDevice(std::string name, double times = 1) : slowness(times), name_(std::move(name)) {}

  absl::StatusOr<TrialResult> run(const MeasureRequest& request) override {
    ran.push_back(request.candidate.digest);
    limits_ns.push_back(request.trial->options().stop_if_slower_than_ns());
    TrialResult result;
    const bool fails = request.candidate.digest == fails_with;
    result.set_outcome(fails ? OUTCOME_CRASHED : OUTCOME_OK);
    for (int i = 0; i < 3 && !fails; ++i) {
      result.add_samples()->set_iterations(1);
      result.mutable_samples(i)->set_total_ns(static_cast<int64_t>(kNs * slowness));
    }
    return result;
  }
  int slots() const override { return 1; }
  absl::StatusOr<DeviceState> device() override { return DeviceState(); }
  void cancel() override {}

  const std::string& name() const { return name_; }

  double slowness;
  std::string fails_with;
  std::vector<std::string> ran;
  std::vector<int64_t> limits_ns;

 private:
  const std::string name_;
};

class ScaledTrialsTest : public testing::Test {
 protected:
  // The time that is told of one trial of the one task.
  int64_t time_ns(FakeDevice& device, const std::string& candidate, uint64_t bench = 0,
                  int64_t incumbent_ns = 0) {
    Trial trial;
    trial.mutable_options()->set_stop_if_slower_than_ns(incumbent_ns);
    MeasureRequest request{.trial = &trial, .bench = bench};
    request.candidate.digest = candidate;
    request.reference.digest = "task";
    const absl::StatusOr<TrialResult> result = trials_.run(device, device.name(), true, request);
    return result.ok() && result->samples_size() > 0 ? result->samples(0).total_ns() : 0;
  }
  static size_t gauges(const FakeDevice& device) {
    return static_cast<size_t>(std::count(device.ran.begin(), device.ran.end(), "first"));
  }

  ScaledTrials trials_;
};

TEST_F(ScaledTrialsTest, TellTimesAsTheFirstDeviceWouldAndSendTheIncumbentsTimeAsTheirDeviceWould) {
  FakeDevice a("a"), b("b", 1.25);
  EXPECT_EQ(time_ns(a, "first"), kNs);
  EXPECT_NEAR(static_cast<double>(time_ns(b, "x", 0, 80'000)), kNs, 1);
  EXPECT_NEAR(static_cast<double>(b.limits_ns.back()), 100'000, 1);
  EXPECT_EQ(b.limits_ns.front(), 0) << "a gauge is timed to its end";
}

TEST_F(ScaledTrialsTest, HaveANewDeviceTimeTheFirstKernelOfATaskBeforeItsTrial) {
  FakeDevice a("a"), b("b", 1.25);
  EXPECT_FALSE(trials_.has_gauges());
  time_ns(a, "first");
  time_ns(a, "x");
  EXPECT_TRUE(trials_.has_gauges());
  EXPECT_TRUE(trials_.knows("a"));
  EXPECT_FALSE(trials_.knows("b"));
  time_ns(b, "x");
  EXPECT_EQ(b.ran, (std::vector<std::string>{"first", "first", "x"}));
  EXPECT_TRUE(trials_.knows("b"));
}

// A kernel first timed on a slow device is as good a gauge.
TEST_F(ScaledTrialsTest, KeepGaugesAsTheFirstDeviceWouldTimeThem) {
  FakeDevice a("a"), b("b", 1.25), c("c");
  time_ns(a, "first");
  time_ns(b, "x");
  const Trial trial;
  MeasureRequest of_other_task{.trial = &trial};
  of_other_task.candidate.digest = "second";
  of_other_task.reference.digest = "task number two";
  ASSERT_TRUE(trials_.run(b, "b", true, of_other_task).ok());
  EXPECT_NEAR(static_cast<double>(time_ns(c, "x")), kNs, 1);
  EXPECT_EQ(c.ran, (std::vector<std::string>{"first", "second", "x"}));
}

TEST_F(ScaledTrialsTest, GoOnWithTheLastFactorWhereAGaugeFails) {
  FakeDevice a("a"), b("b", 1.25);
  time_ns(a, "first");
  time_ns(b, "x");
  b.fails_with = "first";
  const size_t before = gauges(b);
  for (int i = 0; i < 64; ++i) EXPECT_NEAR(static_cast<double>(time_ns(b, "x")), kNs, 1);
  EXPECT_GT(gauges(b), before);
  EXPECT_LE(gauges(b), before + 10);
}

TEST_F(ScaledTrialsTest, KeepOneFactorForAllTrialsOfABench) {
  FakeDevice a("a"), b("b", 1.25);
  time_ns(a, "first");
  time_ns(b, "x", 7);
  const size_t before = gauges(b);
  for (int i = 0; i < 100; ++i) {
    time_ns(b, "x", 7);
    if (i == 50)
      b.slowness = 1.5, time_ns(b, "x"), b.slowness = 1.25;  // a gauge is long due: it has grown hot
    EXPECT_NEAR(static_cast<double>(time_ns(b, "x", 7)), kNs, 1);
  }
  EXPECT_EQ(gauges(b), before + 2) << "those of the trial that is of no bench";
  b.slowness = 1.5;
  EXPECT_NEAR(static_cast<double>(time_ns(b, "x", 8)), kNs, 1) << "another bench begins with the newest";
}

}  // namespace
}  // namespace tf::measure
