#include "tracker/health/golden_trend.h"

#include <cmath>
#include <limits>

namespace tf::tracker {
namespace {

using testing::Optional;

GoldenSample sample(double ms, int minute, const std::string& kernel = "k") {
  return {.slot = 0,
          .kernel = kernel,
          .time_ns = static_cast<int64_t>(ms * 1e6),
          .spread = 0.01,
          .taken_at = absl::Minutes(minute)};
}

class GoldenTrendTest : public testing::Test {
 protected:
  static constexpr double kTolerance = 0.1;

  std::optional<GoldenVerdict> add(double ms, const std::string& kernel = "k",
                                   const std::string& machine = "m") {
    return trend_.add(sample(ms, ++minute_, kernel), machine, kTolerance);
  }
  std::optional<GoldenVerdict> add_with_spread(double ms, double spread) {
    GoldenSample noisy = sample(ms, ++minute_);
    noisy.spread = spread;
    return trend_.add(noisy, "m", kTolerance);
  }
  GoldenTrend trend_;
  int minute_ = 0;
};

TEST_F(GoldenTrendTest, BaselineIsTheMedianOfTheFirstFive) {
  for (const double ms : {1.0, 9.0, 1.2, 1.1}) add(ms);
  EXPECT_EQ(trend_.baseline().time_ns, 0);
  EXPECT_EQ(trend_.drift(), 0);
  add(0.9);
  EXPECT_EQ(trend_.baseline().time_ns, 1.1e6);
  for (int i = 0; i < 10; ++i) add(2.2);
  EXPECT_EQ(trend_.baseline().time_ns, 1.1e6) << "it stays";
  EXPECT_NEAR(trend_.drift(), 1, 1e-9);
}

TEST_F(GoldenTrendTest, DriftIsOfTheLastThreeSoThatOneOutlierIsNone) {
  for (int i = 0; i < 5; ++i) add(1);
  add(5);
  EXPECT_NEAR(trend_.drift(), 0, 1e-9);
  add(1.2);
  EXPECT_NEAR(trend_.drift(), 0.2, 1e-9);
}

TEST_F(GoldenTrendTest, IsInPlaceUpToTheTolerance) {
  EXPECT_THAT(add(7), Optional(GoldenVerdict::kInPlace)) << "nothing to compare with";
  trend_.begin_anew();
  for (int i = 0; i < 5; ++i) add(1);
  EXPECT_THAT(add(1.09), Optional(GoldenVerdict::kInPlace));
  EXPECT_FALSE(trend_.is_off());
  EXPECT_THAT(add(1.11), Optional(GoldenVerdict::kOff));
  EXPECT_TRUE(trend_.is_off());
  EXPECT_THAT(add(0.89), Optional(GoldenVerdict::kInPlace)) << "to be faster is no fault";
  EXPECT_THAT(add(0), Optional(GoldenVerdict::kOff)) << "it could not be measured";
}

TEST_F(GoldenTrendTest, ASpreadExcusesLittleAndTooMuchOfItIsAFaultItself) {
  for (int i = 0; i < 5; ++i) add(1);
  EXPECT_THAT(add_with_spread(1.15, 0.16), Optional(GoldenVerdict::kInPlace));
  EXPECT_THAT(add_with_spread(1.15, 0.14), Optional(GoldenVerdict::kOff));
  for (const double spread : {0.8, 1e9, std::nan(""), std::numeric_limits<double>::infinity()}) {
    add(1);
    EXPECT_THAT(add_with_spread(1.7, spread), Optional(GoldenVerdict::kOff)) << spread;
  }
  add(1);
  EXPECT_THAT(add_with_spread(1, 1.5), Optional(GoldenVerdict::kOff));
}

TEST_F(GoldenTrendTest, TimesThatMeanNothingSayNothingWithoutABaselineAndCountForNone) {
  for (const double spread : {1.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(add_with_spread(3, spread), std::nullopt) << spread;
    EXPECT_EQ(add_with_spread(3.1, spread), std::nullopt) << spread;
  }
  EXPECT_EQ(trend_.baseline().time_ns, 0);
  EXPECT_FALSE(trend_.is_off());
  EXPECT_THAT(add(0), Optional(GoldenVerdict::kOff)) << "it could not be measured at all";
  for (int i = 0; i < 5; ++i) EXPECT_THAT(add(1), Optional(GoldenVerdict::kInPlace));
  EXPECT_EQ(trend_.baseline().time_ns, 1e6);
  for (int i = 0; i < 5; ++i) add_with_spread(0.5, 3);
  EXPECT_EQ(trend_.baseline().time_ns, 1e6) << "nor that it has become faster";
  EXPECT_EQ(trend_.drift(), 0);
  EXPECT_EQ(trend_.latest().drift(), 0);
}

TEST_F(GoldenTrendTest, IsOffAgainOnlyAfterAWhile) {
  for (int i = 0; i < 5; ++i) add(1);
  GoldenSample slow = sample(2, 100);
  const auto after = [&](absl::Duration passed) {
    slow.taken_at += passed;
    ++slow.time_ns;
    return trend_.add(slow, "m", kTolerance);
  };
  EXPECT_THAT(after(absl::ZeroDuration()), Optional(GoldenVerdict::kOff));
  EXPECT_THAT(after(absl::Seconds(3)), Optional(GoldenVerdict::kOff)) << "the same trouble";
  EXPECT_THAT(after(absl::Seconds(3)), Optional(GoldenVerdict::kOffAgain));
  minute_ = 200;
  add(1);
  EXPECT_THAT(add(2), Optional(GoldenVerdict::kOff)) << "it was in place in between";
}

TEST_F(GoldenTrendTest, ADeviceThatHasBecomeFasterSetsANewBaseline) {
  for (int i = 0; i < 5; ++i) add(1);
  for (int i = 0; i < 4; ++i) add(0.7);
  EXPECT_EQ(trend_.baseline().time_ns, 1e6);
  add(0.71);
  EXPECT_EQ(trend_.baseline().time_ns, 0.7e6);
  EXPECT_THAT(add(1), Optional(GoldenVerdict::kOff)) << "by which it is judged from then on";
}

TEST_F(GoldenTrendTest, BeginsAnewWhenItIsTold) {
  for (int i = 0; i < 5; ++i) add(1);
  add(2);
  trend_.begin_anew();
  EXPECT_FALSE(trend_.is_off());
  EXPECT_EQ(trend_.baseline(), GoldenBaseline());
  for (int i = 0; i < 5; ++i) EXPECT_THAT(add(2), Optional(GoldenVerdict::kInPlace));
  EXPECT_EQ(trend_.baseline().time_ns, 2e6);
}

TEST_F(GoldenTrendTest, AnotherKernelOrMachineBeginsAnew) {
  for (int i = 0; i < 5; ++i) add(1);
  add(3, "other kernel");
  EXPECT_EQ(trend_.baseline().time_ns, 0);
  EXPECT_EQ(trend_.samples().size(), 1u);
  for (int i = 0; i < 4; ++i) add(3, "other kernel");
  EXPECT_EQ(trend_.baseline().time_ns, 3e6);
  add(4, "other kernel", "other machine");
  EXPECT_EQ(trend_.baseline().time_ns, 0);
}

TEST_F(GoldenTrendTest, BaselineOutlivesTheTracker) {
  for (int i = 0; i < 5; ++i) add(1);
  GoldenTrend after(trend_.baseline());
  after.add(sample(2, 100), "m", kTolerance);
  EXPECT_EQ(after.baseline(), trend_.baseline());
  EXPECT_NEAR(after.drift(), 1, 1e-9);
}

TEST_F(GoldenTrendTest, TakesASampleOnceThoughItIsToldAgainInTheNextSession) {
  EXPECT_TRUE(trend_.add(sample(1, 1), "m", kTolerance));
  GoldenSample again = sample(1, 1);
  again.taken_at += absl::Milliseconds(300);
  EXPECT_FALSE(trend_.add(again, "m", kTolerance));
  EXPECT_TRUE(trend_.add(sample(1, 2), "m", kTolerance));
  EXPECT_EQ(trend_.samples().size(), 2u);
}

TEST_F(GoldenTrendTest, KeepsTheLastOnes) {
  for (int i = 0; i < 1000; ++i) add(1 + i * 1e-6);
  EXPECT_EQ(trend_.samples().size(), GoldenTrend::kKept);
  EXPECT_EQ(trend_.samples().back().taken_at, absl::Minutes(1000));
}

}  // namespace
}  // namespace tf::tracker
