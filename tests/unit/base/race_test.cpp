#include "base/statistics/race.h"

#include <gtest/gtest.h>

#include <random>

namespace {

using tf::estimate;
using tf::Estimate;
using tf::lower_bound_ns;
using tf::SlowerTest;

// Samples until it is stopped; `most` if it is not.
int samples_until_stopped(double ratio, int most = 50) {
  SlowerTest test(1000, 0.01);
  for (int i = 1; i <= most; ++i) {
    test.add(1000 * ratio);
    if (test.is_slower()) return i;
  }
  return most;
}

TEST(SlowerTest, NeedsTheFewerSamplesTheSlowerTheCandidateIs) {
  EXPECT_EQ(samples_until_stopped(3), 1);
  EXPECT_LE(samples_until_stopped(1.3), 2);
  EXPECT_LE(samples_until_stopped(1.1), 4);
  EXPECT_LE(samples_until_stopped(1.06), 8);
  EXPECT_EQ(samples_until_stopped(1.01), 50) << "what samples of one process have in common is no evidence";
  EXPECT_EQ(samples_until_stopped(0.5), 50);
}

TEST(SlowerTest, StopsNothingWithoutAnIncumbent) {
  SlowerTest test(0, 0.01);
  test.add(1e9);
  EXPECT_FALSE(test.is_slower());
}

TEST(SlowerTest, OneLateSampleAmongGoodOnesIsForgiven) {
  SlowerTest test(1000, 0.01);
  for (double run_ns : {1000., 1005., 1400., 998., 1002., 1010.}) test.add(run_ns);
  EXPECT_FALSE(test.is_slower());
}

TEST(SlowerTest, HardlyEverStopsWhatIsAsFastAsTheIncumbentHoweverOftenItLooks) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  int stopped = 0;
  constexpr int kRaces = 4000;
  for (int race = 0; race < kRaces; ++race) {
    SlowerTest test(1000 / (1 + tf::kShared), 0.02);
    for (int i = 0; i < 100 && !test.is_slower(); ++i) {
      // The longest tail that exceedance() allows: half of the samples above the median, by its inverse.
      const double u = uniform(random);
      const double share = u < 0.5 && u > 0 ? 0.02 * (std::sqrt(0.5 / u) - 1) : -0.001;
      test.add(1000 * (1 + share));
    }
    stopped += test.is_slower();
  }
  EXPECT_LE(stopped, kRaces / 100 + 20);
}

TEST(LowerBound, LiesBelowTheMedianAndRisesWithTheNumberOfSamples) {
  const std::vector<double> few(2, 1000), many(12, 1000);
  EXPECT_GT(lower_bound_ns(few, 0.01), 700);
  EXPECT_GT(lower_bound_ns(many, 0.01), 930);
  EXPECT_LT(lower_bound_ns(few, 0.01), lower_bound_ns(many, 0.01));
  EXPECT_LT(lower_bound_ns(many, 0.01), 1000 / (1 + tf::kShared));
  EXPECT_EQ(lower_bound_ns({}, 0.01), 0);
}

TEST(LowerBound, IsWhatTheTestRefutes) {
  const std::vector<double> runs = {1100, 1090, 1130, 1095};
  const double bound = lower_bound_ns(runs, 0.01);
  for (const auto& [incumbent, slower] : {std::pair{bound * 0.999, true}, {bound * 1.001, false}}) {
    SlowerTest test(incumbent, 0.01);
    for (double run_ns : runs) test.add(run_ns);
    EXPECT_EQ(test.is_slower(), slower);
  }
}

TEST(Estimate, BoundsTheMedianByOrderStatistics) {
  std::vector<double> runs;
  for (int i = 1; i <= 20; ++i) runs.push_back(1000 + 10 * i);
  const Estimate e = estimate(runs);
  EXPECT_EQ(e.median_ns, 1105);
  // P(at most 5 of 20 below the median) = 2.07%, of at most 6 = 5.8%: the sixth from each end.
  EXPECT_EQ(e.low_ns, 1060);
  EXPECT_EQ(e.high_ns, 1150);
  EXPECT_EQ(e.least_ns, 1010);
}

TEST(Estimate, OfFewSamplesHasTheOutermostAsBoundsButNeverNone) {
  const Estimate e = estimate({1000, 1200, 1010});
  EXPECT_EQ(e.median_ns, 1010);
  EXPECT_EQ(e.high_ns, 1200);
  const Estimate one = estimate({1000});
  EXPECT_EQ(one.noise, tf::kNoiseFloor);
  EXPECT_LT(one.low_ns, 1000);
  EXPECT_GT(one.high_ns, 1000);
  EXPECT_EQ(estimate({}).median_ns, 0);
}

TEST(Estimate, TakesItsNoiseFromWhatAQuarterOfTheSamplesExceeds) {
  EXPECT_NEAR(estimate({970, 1000, 1000, 1000, 1000, 1000, 1050, 1050}).noise, std::log(1.05), 1e-9);
  EXPECT_EQ(estimate({1000, 1000, 9000, 9000}).noise, tf::kNoiseCeiling);
}

TEST(RatioOf, ComparesTimesThatWereTakenBesideEachOther) {
  const std::vector<double> runs = {90, 180, 270, 360, 450, 540}, others = {100, 200, 300, 400, 500, 600};
  const Estimate ratio = tf::ratio_of(runs, others);
  EXPECT_NEAR(ratio.median_ns, 0.9, 1e-12);
  EXPECT_LT(ratio.high_ns, 0.91) << "whatever the machine did from one pair to the next";
  EXPECT_GT(estimate(runs).high_ns, estimate(others).low_ns) << "as the times alone do not tell";
}

}  // namespace
