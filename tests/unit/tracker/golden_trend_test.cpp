#include "tracker/golden_trend.h"

namespace tf::tracker {
namespace {

GoldenSample sample(double ms, int minute, const std::string& kernel = "k") {
  return {.slot = 0,
          .kernel = kernel,
          .time_ns = static_cast<int64_t>(ms * 1e6),
          .spread = 0.01,
          .taken_at = absl::Minutes(minute)};
}

class GoldenTrendTest : public testing::Test {
 protected:
  bool add(double ms, const std::string& kernel = "k", const std::string& machine = "m") {
    return trend_.add(sample(ms, ++minute_, kernel), machine);
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

TEST_F(GoldenTrendTest, AgreesWithinTheToleranceOrItsOwnSpread) {
  EXPECT_TRUE(trend_.agrees(sample(7, 0), 0.1)) << "nothing to compare with";
  for (int i = 0; i < 5; ++i) add(1);
  EXPECT_TRUE(trend_.agrees(sample(1.09, 0), 0.1));
  EXPECT_FALSE(trend_.agrees(sample(1.11, 0), 0.1));
  EXPECT_FALSE(trend_.agrees(sample(0.89, 0), 0.1)) << "faster is as strange as slower";
  GoldenSample noisy = sample(1.5, 0);
  noisy.spread = 0.6;
  EXPECT_TRUE(trend_.agrees(noisy, 0.1));
  EXPECT_FALSE(trend_.agrees(sample(0, 0), 0.1)) << "it could not be measured";
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
  after.add(sample(2, 100), "m");
  EXPECT_EQ(after.baseline(), trend_.baseline());
  EXPECT_NEAR(after.drift(), 1, 1e-9);
}

TEST_F(GoldenTrendTest, TakesASampleOnceThoughItIsToldAgainInTheNextSession) {
  EXPECT_TRUE(trend_.add(sample(1, 1), "m"));
  GoldenSample again = sample(1, 1);
  again.taken_at += absl::Milliseconds(300);
  EXPECT_FALSE(trend_.add(again, "m"));
  EXPECT_TRUE(trend_.add(sample(1, 2), "m"));
  EXPECT_EQ(trend_.samples().size(), 2u);
}

TEST_F(GoldenTrendTest, KeepsTheLastOnes) {
  for (int i = 0; i < 1000; ++i) add(1 + i * 1e-6);
  EXPECT_EQ(trend_.samples().size(), GoldenTrend::kKept);
  EXPECT_EQ(trend_.samples().back().taken_at, absl::Minutes(1000));
}

}  // namespace
}  // namespace tf::tracker
