#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/tuner/report/sample_report.h"

namespace tf::report {
namespace {

using database::Outcome;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

using JobCurvesTest = ReportTest;

TEST_F(JobCurvesTest, ShowTheFastestOfEachKernelAndOfTheNetworkFromWhereAllAreKnown) {
  const int64_t job = add_job();
  add_tasks(job, {{8, 2}, {16, 1}, {32, 0}});
  insert(measured(8, 1, 100, 1, job));
  insert(measured(8, 2, 150, 2, job));
  insert(measured(16, 1, 1000, 3, job));
  insert(failed(16, 2, Outcome::kCrashed, 4, job));
  insert(measured(8, 3, 40, 5, job));
  insert(measured(32, 1, 7, 6, job));  // runs only between other layouts
  const auto curves = report_.describe_job(of_job<pb::DescribeJobRequest>(job));
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ(curves->began_unix_s(), static_cast<double>(kBegan) * 1e-9);
  EXPECT_NEAR(curves->last_unix_s() - curves->began_unix_s(), 6, 1e-6);
  ASSERT_EQ(curves->tasks_size(), 2);
  EXPECT_EQ(curves->tasks(0).kernel_id(), id(8));
  EXPECT_EQ(curves->tasks(0).label(), "square 8");
  EXPECT_EQ(curves->tasks(0).trials(), 3u);
  EXPECT_THAT(curves->tasks(0).best().ns(), ElementsAre(100, 40));
  EXPECT_THAT(curves->tasks(0).best().trials(), ElementsAre(1, 5));
  EXPECT_EQ(curves->tasks(0).best_ns(), 40);
  EXPECT_THAT(curves->network().ns(), ElementsAre(1200, 1080));
  EXPECT_THAT(curves->network().elapsed_s(),
              ElementsAre(testing::DoubleNear(3, 1e-6), testing::DoubleNear(5, 1e-6)));
  EXPECT_EQ(curves->untuned_network_ns(), 0);
  EXPECT_THAT(curves->outcomes(), UnorderedElementsAre(Pair("ok", 5u), Pair("crashed", 1u)));
  double trials = 0, busy_s = 0;
  for (const double per_s : curves->trials_per_s()) trials += per_s * curves->step_s();
  for (const double share : curves->busy_share()) busy_s += share * curves->step_s();
  EXPECT_NEAR(trials, 6, 1e-6);
  EXPECT_NEAR(busy_s, 30 * (100 + 150 + 1000 + 40 + 7) * 1e-9, 1e-12);
}

TEST_F(JobCurvesTest, BeginWithWhatWasKnownBefore) {
  const int64_t before = add_job();
  insert(measured(8, 1, 100, -100, before));
  insert(measured(8, 2, 50, -99, before));
  database::Measurement elsewhere = measured(8, 3, 1, -98, before);
  elsewhere.device.device_class = "phone";
  insert(elsewhere);
  database::Measurement narrower = measured(8, 4, 2, -97, before);
  narrower.numerics = {"bf16"};
  insert(narrower);
  const int64_t job = add_job();
  add_tasks(job, {{8, 1}});
  insert(measured(8, 5, 60, 1, job));
  insert(measured(8, 6, 30, 2, job));
  const auto curves = report_.describe_job(of_job<pb::DescribeJobRequest>(job));
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_THAT(curves->tasks(0).best().ns(), ElementsAre(50, 30));
  EXPECT_THAT(curves->tasks(0).best().trials(), ElementsAre(0, 2));
  EXPECT_EQ(curves->tasks(0).trials(), 2u);
  const int64_t exact = add_job("desk", R"({"allowedNumerics": ["bf16"]})");
  add_tasks(exact, {{8, 1}});
  insert(measured(8, 7, 60, 1, exact));
  EXPECT_EQ(report_.describe_job(of_job<pb::DescribeJobRequest>(exact))->tasks(0).best_ns(), 2);
}

TEST_F(JobCurvesTest, ScheduleThatWasMeasuredAgainCountsByTheLastTime) {
  const int64_t job = add_job();
  add_tasks(job, {{8, 1}});
  insert(measured(8, 1, 100, 1, job));
  insert(measured(8, 2, 50, 2, job));
  insert(measured(8, 2, 120, 3, job));  // it had been lucky
  insert(failed(8, 1, Outcome::kWrongOutput, 4, job));
  const auto curves = report_.describe_job(of_job<pb::DescribeJobRequest>(job));
  EXPECT_THAT(curves->tasks(0).best().ns(), ElementsAre(100, 50, 100, 120));
  EXPECT_EQ(curves->tasks(0).best_ns(), 120);
}

TEST_F(JobCurvesTest, TheNetworkHasNoTimeWhileOneOfItsKernelsHasNone) {
  const int64_t job = add_job();
  add_tasks(job, {{8, 1}, {16, 1}});
  insert(measured(8, 1, 100, 1, job));
  insert(measured(16, 1, 10, 2, job));
  insert(failed(8, 1, Outcome::kWrongOutput, 3, job));
  insert(measured(16, 2, 5, 4, job));
  insert(measured(8, 2, 200, 5, job));
  const auto curves = report_.describe_job(of_job<pb::DescribeJobRequest>(job));
  EXPECT_THAT(curves->tasks(0).best().ns(), ElementsAre(100, 0, 200));
  EXPECT_THAT(curves->network().ns(), ElementsAre(110, 0, 205));
  EXPECT_THAT(curves->network().trials(), ElementsAre(2, 3, 5));
}

TEST_F(JobCurvesTest, TimesOfSchedulesThatMeantSomethingElseDoNotCount) {
  database::Measurement old = measured(8, 1, 1, -100, 0);
  old.semantics_version = 77;
  insert(old);
  const int64_t job = add_job();
  add_tasks(job, {{8, 1}});
  insert(measured(8, 2, 100, 1, job));
  const auto curves = report_.describe_job(of_job<pb::DescribeJobRequest>(job));
  EXPECT_THAT(curves->tasks(0).best().ns(), ElementsAre(100));
}

TEST_F(JobCurvesTest, FinalMeasurementsAreNoTrials) {
  const int64_t job = add_job();
  add_tasks(job, {{8, 1}});
  insert(measured(8, 1, 100, 1, job));
  database::Measurement again = measured(8, 1, 90, 2, job);
  again.interleaved = database::Interleaved{.began_unix_ns = kBegan, .ns = 90, .interval_ns = {89, 91}};
  insert(again);
  const auto curves = report_.describe_job(of_job<pb::DescribeJobRequest>(job));
  EXPECT_EQ(curves->tasks(0).trials(), 1u);
  EXPECT_THAT(curves->tasks(0).best().trials(), ElementsAre(1, 1));
  EXPECT_THAT(curves->tasks(0).best().ns(), ElementsAre(100, 90));
}

TEST_F(JobCurvesTest, UntunedNetworkIsTheSumOfUntunedKernels) {
  const int64_t job = add_job();
  add_tasks(job, {{8, 2}, {16, 1}});
  database::Measurement untuned = measured(8, 1, 100, 1, job);
  untuned.untuned = true;
  insert(untuned);
  insert(measured(16, 1, 1000, 2, job));
  EXPECT_EQ(report_.describe_job(of_job<pb::DescribeJobRequest>(job))->untuned_network_ns(), 0);
  untuned = measured(16, 2, 2000, 3, job);
  untuned.untuned = true;
  insert(untuned);
  EXPECT_EQ(report_.describe_job(of_job<pb::DescribeJobRequest>(job))->untuned_network_ns(), 2200);
}

TEST_F(JobCurvesTest, AJobWithoutMeasurementsOrTasksHasEmptyCurves) {
  const int64_t job = add_job();
  auto curves = report_.describe_job(of_job<pb::DescribeJobRequest>(job));
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ(curves->tasks_size(), 0);
  EXPECT_EQ(curves->network().ns_size(), 0);
  add_tasks(job, {{8, 1}});
  curves = report_.describe_job(of_job<pb::DescribeJobRequest>(job));
  ASSERT_EQ(curves->tasks_size(), 1);
  EXPECT_EQ(curves->tasks(0).best_ns(), 0);
}

TEST_F(JobCurvesTest, AJobOfBeforeTasksWereKeptIsKnownByItsMeasurements) {
  const int64_t job = add_job();
  insert(measured(16, 1, 100, 1, job));
  const auto curves = report_.describe_job(of_job<pb::DescribeJobRequest>(job));
  ASSERT_EQ(curves->tasks_size(), 1);
  EXPECT_EQ(curves->tasks(0).label(), "square 16");
}

TEST_F(JobCurvesTest, ThinningKeepsTheBestAndChangesNoValue) {
  const int64_t job = add_job();
  add_tasks(job, {{8, 1}});
  for (int i = 0; i < 300; ++i) insert(measured(8, i, 1000 - i, 1 + i, job));
  pb::DescribeJobRequest request = of_job<pb::DescribeJobRequest>(job);
  request.set_most_points(10);
  const auto curves = report_.describe_job(request);
  const pb::Curve& best = curves->tasks(0).best();
  EXPECT_LE(best.ns_size(), 10);
  EXPECT_GE(best.ns_size(), 5);
  for (int i = 0; i < best.ns_size(); ++i)
    EXPECT_EQ(best.ns(i), 1001 - std::lround(best.elapsed_s(i))) << "at " << best.elapsed_s(i);
  EXPECT_EQ(best.ns(0), 1000);
  EXPECT_EQ(best.ns(best.ns_size() - 1), 701);
  EXPECT_EQ(best.trials(best.ns_size() - 1), 300u);
  EXPECT_LE(curves->trials_per_s_size(), 10);
}

TEST_F(JobCurvesTest, AnUnknownJobIsNotFound) {
  const absl::Status status = report_.describe_job(of_job<pb::DescribeJobRequest>(99)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
}

}  // namespace
}  // namespace tf::report
