#include <map>

#include "rpc/metrics/page.h"
#include "tests/support/operating/scrape.h"

namespace tf::rpc {
namespace {

using test::metric;
using test::scrape;
using testing::HasSubstr;

TEST(DurationCounts, AreCumulative) {
  DurationCounts counts({0.1, 1});
  for (const double seconds : {0.05, 0.1, 0.5, 7.0}) counts.add(absl::Seconds(seconds));
  EXPECT_THAT(counts.at_most, testing::ElementsAre(2, 3));
  EXPECT_EQ(counts.count, 4u);
  EXPECT_NEAR(counts.sum_s, 7.65, 1e-9);
}

TEST(WorkTally, CountsWhatRunsAndHowItEnded) {
  WorkTally tally;
  tally.begin();
  tally.begin();
  tally.end("ok", absl::Milliseconds(20));
  const std::vector<MetricFamily> families = tally.families("x_trial", "trials");
  ASSERT_EQ(families.size(), 3u);
  EXPECT_EQ(families[0].name, "x_trials_running");
  EXPECT_EQ(families[0].samples[0].value, 1);
  EXPECT_EQ(families[1].name, "x_trials_total");
  EXPECT_EQ(families[1].samples[0].labels.at("outcome"), "ok");
  EXPECT_EQ(families[2].name, "x_trial_seconds");
  EXPECT_EQ(families[2].samples[0].durations->count, 1u);
}

TEST(MetricsPage, ShowsEachFamilyInPrometheussWords) {
  DurationCounts durations({0.5});
  durations.add(absl::Seconds(1));
  double leases = 3;
  const auto page = MetricsPage::start("127.0.0.1:0", [&] {
    return std::vector<MetricFamily>{
        counter("t_leases_total", "leases", leases),
        by_label(gauge("t_devices", "devices", 0), "state", {{"away", 1}, {"a\"\nb", 2}}),
        histogram("t_grant_seconds", "grants", durations)};
  });
  ASSERT_TRUE(page.ok()) << page.status();
  const std::string text = scrape((*page)->endpoint());
  EXPECT_THAT(text, HasSubstr("# TYPE t_leases_total counter\n"));
  EXPECT_THAT(text, HasSubstr("t_leases_total 3\n"));
  EXPECT_THAT(text, HasSubstr("t_devices{state=\"away\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_devices{state=\"a\\\"\\nb\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("t_grant_seconds_bucket{le=\"0.5\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("t_grant_seconds_bucket{le=\"+Inf\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_grant_seconds_count 1\n"));
  EXPECT_GT(metric(text, "process_resident_memory_bytes"), 1e6);
  EXPECT_GT(metric(text, "process_open_fds"), 3);
  EXPECT_GT(metric(text, "process_threads"), 1);
  EXPECT_GT(metric(text, "process_start_time_seconds"), 1.7e9);
  leases = 4;
  EXPECT_EQ(metric(scrape((*page)->endpoint()), "t_leases_total"), 4)
      << "each reader gets the present numbers";
}

TEST(MetricsPage, IsForLoopbackAndAFreePort) {
  const auto none = [] { return std::vector<MetricFamily>(); };
  EXPECT_EQ(*MetricsPage::start("", none), nullptr);
  const absl::Status everywhere = MetricsPage::start("0.0.0.0:0", none).status();
  EXPECT_TRUE(absl::IsInvalidArgument(everywhere)) << everywhere;
  EXPECT_THAT(std::string(everywhere.message()), HasSubstr("loopback"));
  EXPECT_TRUE(absl::IsInvalidArgument(MetricsPage::start("nonsense", none).status()));
  const auto first = MetricsPage::start("localhost:0", none);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status taken = MetricsPage::start((*first)->endpoint().text(), none).status();
  EXPECT_TRUE(absl::IsAlreadyExists(taken)) << taken;
}

}  // namespace
}  // namespace tf::rpc
