#include "tests/bench/farm/scraped_durations.h"

#include <gmock/gmock.h>

namespace tf::farm_load {
namespace {

constexpr char kBefore[] =
    "# HELP s_seconds of it\n# TYPE s_seconds histogram\ns_seconds_count 10\ns_seconds_sum 1\n"
    "s_seconds_bucket{le=\"0.001\"} 5\ns_seconds_bucket{le=\"0.1\"} 10\ns_seconds_bucket{le=\"+Inf\"} 10\n";
constexpr char kAfter[] =
    "# HELP s_seconds of it\n# TYPE s_seconds histogram\ns_seconds_count 210\ns_seconds_sum 3\n"
    "s_seconds_bucket{le=\"0.001\"} 155\ns_seconds_bucket{le=\"0.1\"} 207\ns_seconds_bucket{le=\"+Inf\"} "
    "210\n";

TEST(ScrapedDurations, AreOfWhatEndedBetweenTheReadings) {
  const auto between = durations_between(kBefore, kAfter, "s_seconds");
  EXPECT_EQ(between["count"], 200);
  EXPECT_DOUBLE_EQ(between["mean"], 10);
  EXPECT_EQ(between["p50_at_most"], 1);
  EXPECT_TRUE(between["p99_at_most"].is_null()) << "of 200, 3 took longer than the last bound";
}

TEST(ScrapedDurations, AreNullWhereThereAreNone) {
  EXPECT_TRUE(durations_between(kAfter, kAfter, "s_seconds").is_null());
  EXPECT_TRUE(durations_between("", kAfter, "s_seconds").is_null()) << "nothing to compare with";
}

}  // namespace
}  // namespace tf::farm_load
