#include "tracker/leases/clock_lead.h"

#include <gtest/gtest.h>

#include <random>

namespace tf::tracker {
namespace {

TEST(ClockLead, IsNotKnownBeforeAnythingIsHeard) {
  EXPECT_EQ(ClockLead().at_least(absl::Seconds(5)), std::nullopt);
}

TEST(ClockLead, AMessageThatWasUnderWayForLongSpoilsNothing) {
  ClockLead lead;
  EXPECT_FALSE(lead.hear(absl::Seconds(1000), absl::Seconds(10)));
  EXPECT_FALSE(lead.hear(absl::Seconds(1001), absl::Seconds(31))) << "20 s late";
  EXPECT_GE(*lead.at_least(absl::Seconds(31)), absl::Seconds(989.9));
}

TEST(ClockLead, SaysWhenWhatWasToldLookedTooOld) {
  ClockLead lead;
  EXPECT_FALSE(lead.hear(absl::Seconds(1000), absl::Seconds(50))) << "there is nothing to compare with";
  EXPECT_TRUE(lead.hear(absl::Seconds(1041), absl::Seconds(51)));
  EXPECT_EQ(lead.at_least(absl::Seconds(51)), absl::Seconds(990));
  EXPECT_FALSE(lead.hear(absl::Seconds(1042.5), absl::Seconds(52))) << "a little better";
}

TEST(ClockLead, IsNeverTooLongThoughClocksRunAtDifferentSpeedsForDays) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> delay_s(5);
  for (const double skew : {-1.9e-3, -1e-4, 0.0, 1e-4, 1.9e-3}) {
    ClockLead lead;
    const auto theirs = [&](double ours_s) { return absl::Seconds(1e6 + ours_s * (1 + skew)); };
    for (double said_s = 0; said_s < 5 * 86'400; said_s += 30) {
      const absl::Duration heard = absl::Seconds(said_s + delay_s(random));
      lead.hear(theirs(said_s), heard);
      const absl::Duration true_lead = theirs(absl::ToDoubleSeconds(heard)) - heard;
      ASSERT_LE(*lead.at_least(heard), true_lead + absl::Microseconds(1)) << skew << " " << said_s;
      ASSERT_GE(*lead.at_least(heard), true_lead - absl::Seconds(10)) << skew << " " << said_s;
      const absl::Duration before = heard - absl::Seconds(20);
      ASSERT_LE(*lead.at_least(before),
                theirs(absl::ToDoubleSeconds(before)) - before + absl::Microseconds(1));
    }
  }
}

}  // namespace
}  // namespace tf::tracker
