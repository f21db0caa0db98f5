#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/tuner/report/sample_report.h"

namespace tf::report {
namespace {

using database::Origin;
using database::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

using KernelReportTest = ReportTest;

std::vector<std::string> ids_of(const pb::ListKernelsReply& reply) {
  std::vector<std::string> ids;
  for (const pb::KernelRow& row : reply.kernels()) ids.push_back(row.kernel_id());
  return ids;
}

TEST_F(KernelReportTest, AnEmptyDatabaseHasNone) {
  const auto reply = report_.list_kernels({});
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->total(), 0u);
  EXPECT_EQ(report_.describe_kernel(of_kernel<pb::DescribeKernelRequest>(id(8))).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(KernelReportTest, ListsTheLatestFirstInPages) {
  insert(measured(8, 1, 100, 1, 0));
  insert(measured(16, 1, 100, 2, 0));
  insert(measured(32, 1, 100, 3, 0));
  insert(measured(8, 2, 50, 4, 0));
  pb::ListKernelsRequest request;
  request.set_page_size(2);
  auto reply = report_.list_kernels(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(ids_of(*reply), ElementsAre(id(8), id(32)));
  EXPECT_EQ(reply->total(), 3u);
  const pb::KernelRow row = reply->kernels(0);
  EXPECT_EQ(row.label(), "square");
  EXPECT_EQ(row.shape(), "8");
  EXPECT_EQ(row.trials(), 2u);
  EXPECT_EQ(row.best_ns(), 50);
  EXPECT_EQ(row.device_class(), "desk");
  EXPECT_NEAR(row.gflops_per_s(), 8.0 / 50, 1e-9);
  request.set_page_token(reply->next_page_token());
  reply = report_.list_kernels(request);
  EXPECT_THAT(ids_of(*reply), ElementsAre(id(16)));
  EXPECT_EQ(reply->next_page_token(), "");
  request.set_page_token("x");
  EXPECT_EQ(report_.list_kernels(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.set_page_token("99");
  EXPECT_EQ(report_.list_kernels(request)->kernels_size(), 0);
}

TEST_F(KernelReportTest, ListsAJobsByTheirShareAlsoThoseThatAreNotMeasuredYet) {
  const int64_t job = add_job();
  add_tasks(job, {{8, 3}, {16, 1}, {32, 1}});
  insert(measured(8, 1, 100, 1, job));
  insert(measured(16, 1, 700, 2, job));
  insert(measured(16, 2, 900, 2, 0));
  const auto reply = report_.list_kernels(of_job<pb::ListKernelsRequest>(job));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(ids_of(*reply), ElementsAre(id(16), id(8), id(32)));
  EXPECT_DOUBLE_EQ(reply->kernels(0).share(), 0.7);
  EXPECT_EQ(reply->kernels(0).trials(), 1u);
  EXPECT_EQ(reply->kernels(2).best_ns(), 0);
  EXPECT_EQ(reply->kernels(2).weight(), 1);
}

TEST_F(KernelReportTest, SearchesLabelsTargetsAndDeviceClasses) {
  insert(measured(8, 1, 100, 1, 0));
  database::Measurement elsewhere = measured(16, 1, 100, 2, 0);
  elsewhere.device.device_class = "Raspberry";
  elsewhere.problem.target = "aarch64";
  insert(elsewhere);
  for (const auto& [search, count] :
       {std::pair("SQUARE", 2), {"square 1", 1}, {"x86", 1}, {"raspb", 1}, {"conv", 0}}) {
    pb::ListKernelsRequest request;
    request.set_search(search);
    EXPECT_EQ(report_.list_kernels(request)->total(), static_cast<uint32_t>(count)) << search;
  }
}

TEST_F(KernelReportTest, SaysWhatABuildTakesAndWhatIsFaster) {
  database::Measurement untuned = measured(8, 1, 100, 1, 0);
  untuned.untuned = true;
  untuned.samples = {{900, 10}, {1000, 10}, {1500, 10}};
  insert(untuned);
  database::Measurement luckier = measured(8, 2, 99, 2, 0);
  luckier.samples = {{500, 10}, {990, 10}, {2000, 10}};
  insert(luckier);
  insert(failed(8, 3, Outcome::kTimedOut, 3, 0));
  auto report = report_.describe_kernel(of_kernel<pb::DescribeKernelRequest>(id(8)));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->best().untuned());
  EXPECT_EQ(report->row().why(), "unproven");
  EXPECT_EQ(report->fastest(0).ns(), 99);
  EXPECT_THAT(report->outcomes(), UnorderedElementsAre(Pair("ok", 2u), Pair("timed_out", 1u)));
  EXPECT_EQ(report->flops(), 8);
  EXPECT_EQ(report->bytes(), 64);
  EXPECT_EQ(report->key().target(), "x86_64");
  EXPECT_EQ(report->workload(), workload(8).text);
  insert(measured(8, 4, 20, 4, 0));
  report = report_.describe_kernel(of_kernel<pb::DescribeKernelRequest>(id(8)));
  EXPECT_EQ(report->best().ns(), 20);
  EXPECT_EQ(report->row().why(), "faster");
  EXPECT_EQ(report->untuned().ns(), 100);
  EXPECT_EQ(report->best().digest(), database::record_digest(*store_->find_row(4)).hex());
}

TEST_F(KernelReportTest, AKernelThatOnlyFailedHasNoBest) {
  insert(failed(8, 1, Outcome::kCompileError, 1, 0));
  const auto report = report_.describe_kernel(of_kernel<pb::DescribeKernelRequest>(id(8)));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->has_best());
  EXPECT_FALSE(report->has_untuned());
  EXPECT_EQ(report->row().best_ns(), 0);
  EXPECT_EQ(report->row().gflops_per_s(), 0);
}

TEST_F(KernelReportTest, WhatTellsAKernelFromNamesakesStaysWithItsShape) {
  database::Workload namesake = workload(8);
  namesake.text += "\n";  // another key
  namesake.op = "square 8 of 8 by 16";
  ASSERT_TRUE(store_->add_workload(namesake).ok());
  database::Measurement m = measured(8, 1, 100, 1, 0);
  m.problem.workload = namesake.key();
  insert(m);
  const auto report = report_.describe_kernel(of_kernel<pb::DescribeKernelRequest>(kernel_id(m.problem)));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->row().label(), "square");
  EXPECT_EQ(report->row().shape(), "8 of 8 by 16");
}

TEST_F(KernelReportTest, AWorkloadOfAnotherProgramIsListedByItsName) {
  const database::Workload made_up{.text = "made up", .op = "made\x1b up", .flops = 1};
  ASSERT_TRUE(store_->add_workload(made_up).ok());
  database::Measurement m = measured(8, 1, 100, 1, 0);
  m.problem.workload = made_up.key();
  insert(m);
  const auto report = report_.describe_kernel(of_kernel<pb::DescribeKernelRequest>(kernel_id(m.problem)));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->row().label(), "made? up");
  EXPECT_EQ(report->flops(), 0);
  EXPECT_EQ(report->best().ns(), 100);
}

TEST_F(KernelReportTest, CandidatesAreAllOrThoseOfAJobInOrder) {
  const int64_t job = add_job();
  insert(measured(8, 1, 100, 1, job));
  insert(failed(8, 2, Outcome::kCrashed, 2, 0));
  insert(measured(16, 1, 5, 2.5, job));
  insert(measured(8, 3, 80, 3, job));
  pb::ListCandidatesRequest request = of_kernel<pb::ListCandidatesRequest>(id(8));
  auto all = report_.list_candidates(request);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->total(), 3u);
  EXPECT_THAT(all->rows(), ElementsAre(1, 2, 4));
  EXPECT_THAT(all->ns(), ElementsAre(100, 0, 80));
  EXPECT_EQ(all->outcome_names(static_cast<int>(all->outcomes(1))), "crashed");
  EXPECT_EQ(all->outcome_names(static_cast<int>(all->outcomes(0))), "ok");
  request.set_job_id(job);
  EXPECT_THAT(report_.list_candidates(request)->rows(), ElementsAre(1, 4));
}

TEST_F(KernelReportTest, ThinnedCandidatesKeepEachBestAndEachOutcome) {
  for (int i = 0; i < 400; ++i) {
    if (i % 100 == 7) {
      insert(measured(8, i, 1000 - i, i, 0));  // four that were the best
    } else if (i == 60) {
      insert(failed(8, i, Outcome::kOutOfMemory, i, 0));
    } else if (i % 4 == 0) {
      insert(failed(8, i, Outcome::kCrashed, i, 0));
    } else {
      insert(measured(8, i, 2000 + i, i, 0));
    }
  }
  pb::ListCandidatesRequest request = of_kernel<pb::ListCandidatesRequest>(id(8));
  request.set_most_points(40);
  const auto thinned = report_.list_candidates(request);
  EXPECT_EQ(thinned->total(), 400u);
  EXPECT_LE(thinned->rows_size(), 40);
  EXPECT_GE(thinned->rows_size(), 36);
  std::map<std::string, int> outcomes;
  std::vector<double> bests;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < thinned->rows_size(); ++i) {
    ++outcomes[thinned->outcome_names(static_cast<int>(thinned->outcomes(i)))];
    if (thinned->ns(i) > 0 && thinned->ns(i) < best) bests.push_back(best = thinned->ns(i));
  }
  EXPECT_EQ(outcomes["out_of_memory"], 1);
  EXPECT_NEAR(outcomes["crashed"], 10, 3);
  EXPECT_THAT(std::vector<double>(bests.end() - 4, bests.end()), ElementsAre(993, 893, 793, 693));
}

TEST_F(KernelReportTest, ACandidateSaysAllThatScreensCanShow) {
  database::Measurement m = measured(8, 1, 100, 1, 0);
  m.max_error = std::numeric_limits<double>::infinity();
  m.device.temperature_c = std::nan("");
  m.detail = "two\nlines";
  m.outcome = Outcome::kWrongOutput;
  const int64_t row = insert(m);
  pb::DescribeCandidateRequest request;
  request.set_row(static_cast<uint32_t>(row));
  const auto candidate = report_.describe_candidate(request);
  ASSERT_TRUE(candidate.ok()) << candidate.status();
  EXPECT_EQ(candidate->outcome(), "wrong_output");
  EXPECT_GT(candidate->max_error(), 1e300);
  EXPECT_TRUE(std::isfinite(candidate->max_error()));
  EXPECT_EQ(candidate->temperature_c(), 0);
  EXPECT_EQ(candidate->detail(), "two?lines");
  EXPECT_THAT(candidate->samples_ns(), ElementsAre(100, 100, 100));
  EXPECT_EQ(candidate->from(), "");
  request.set_row(77);
  EXPECT_EQ(report_.describe_candidate(request).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(KernelReportTest, AnErrorIsAShareOfWhatRoundingMayGive) {
  database::Measurement m = measured(8, 1, 100, 1, 0);
  m.schedule = "schedule v1\nsplit t0 i0 4 guard\n";
  m.max_error = 0x1p-24;  // of 16 + 4 such roundings
  pb::DescribeCandidateRequest request;
  request.set_row(static_cast<uint32_t>(insert(m)));
  EXPECT_NEAR(report_.describe_candidate(request)->max_error(), 1.0 / 20, 1e-9);
}

TEST_F(KernelReportTest, ImportedRecordsSayWhereTheyAreFromAndCountByTheirDate) {
  insert(measured(8, 1, 100, 10, 0));
  const int64_t row = insert(measured(8, 1, 10, 5, 0), Origin::kImport);  // older than what was measured here
  insert(measured(8, 2, 70, 5, 0), Origin::kImport);
  pb::DescribeCandidateRequest request;
  request.set_row(static_cast<uint32_t>(row));
  EXPECT_EQ(report_.describe_candidate(request)->from(), "A CPU");
  EXPECT_EQ(report_.describe_kernel(of_kernel<pb::DescribeKernelRequest>(id(8)))->best().ns(), 70);
}

}  // namespace
}  // namespace tf::report
