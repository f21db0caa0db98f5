// What every Store answers about points, rows and the networks of jobs.

#include <cstring>

#include "tests/unit/database/store_contract.h"

namespace tf::database {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PointsContract : public StoreContract {
 protected:
  std::vector<Point> points(int64_t after_row, Records& records) {
    std::vector<Point> out;
    EXPECT_TRUE(
        records.points(after_row, [&](const Point& p) { return out.push_back(p), absl::OkStatus(); }).ok());
    return out;
  }
};

TEST_P(PointsContract, APointSaysWhatIsSmallOfItsMeasurement) {
  Measurement m = measured(100, 7);
  m.numerics = {"bf16", "winograd"};
  m.untuned = true;
  m.job_id = 5;
  insert(m);
  Measurement failed = measured(200, 8);
  failed.outcome = Outcome::kCrashed;
  failed.samples.clear();
  EXPECT_TRUE(store_->insert(failed, Origin::kImport).ok());
  m.finished_unix_ns = 9;
  m.interleaved = Interleaved{.began_unix_ns = 3, .ns = 90, .interval_ns = {89, 91}};
  insert(m);
  size_t seen = 0;
  ASSERT_TRUE(store_
                  ->points(0,
                           [&](const Point& point) {
                             ++seen;
                             const Measurement whole = *store_->find_row(point.row);
                             EXPECT_EQ(*point.problem, whole.problem);
                             EXPECT_EQ(point.outcome, whole.outcome);
                             EXPECT_EQ(point.ns, whole.median_ns().value_or(0));
                             EXPECT_EQ(point.untuned, whole.untuned);
                             EXPECT_EQ(point.interleaved, whole.interleaved.has_value());
                             EXPECT_EQ(point.job_id, whole.job_id);
                             EXPECT_EQ(point.finished_unix_ns, whole.finished_unix_ns);
                             EXPECT_EQ(point.imported_after, whole.imported_after);
                             EXPECT_EQ(point.setting->device_class, "desk");
                             EXPECT_EQ(point.setting->fingerprint, "f00d");
                             EXPECT_EQ(point.setting->semantics_version, 3u);
                             const Digest schedule = sha256(whole.schedule);
                             EXPECT_EQ(std::memcmp(&point.schedule, schedule.bytes.data(), 8), 0);
                             if (point.row == 1) {
                               EXPECT_EQ(point.setting->numerics, "bf16,winograd");
                               EXPECT_EQ(point.sampled_ns, 100 * 35);
                             }
                             return absl::OkStatus();
                           })
                  .ok());
  EXPECT_EQ(seen, 3u);
}

TEST_P(PointsContract, PointsBeginAfterARowAndShareWhatIsEqual) {
  for (int i = 1; i <= 5; ++i) insert(measured(100 * i, i));
  const std::vector<Point> last = points(3, *store_);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].row, 4);
  EXPECT_EQ(last[0].problem, last[1].problem);
  EXPECT_EQ(last[0].setting, last[1].setting);
  EXPECT_TRUE(points(5, *store_).empty());
  EXPECT_EQ(store_->find_row(6).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->find_row(2)->median_ns(), 200);
}

TEST_P(PointsContract, AFailedVisitEndsTheScan) {
  for (int i = 1; i <= 3; ++i) insert(measured(100 * i, i));
  int visited = 0;
  EXPECT_EQ(store_->points(0, [&](const Point&) { return ++visited, absl::CancelledError("enough"); }),
            absl::CancelledError("enough"));
  EXPECT_EQ(visited, 1);
}

TEST_P(PointsContract, TheNetworkOfAJobIsKeptAsItWasTold) {
  const int64_t job = *store_->add_job({.model_name = "net.onnx"});
  EXPECT_EQ(*store_->job_network(job), "");
  ASSERT_TRUE(store_->save_job_network(job, "{\"calls\":[]}").ok());
  ASSERT_TRUE(store_->save_job_network(job, "{}").ok());
  EXPECT_EQ(*store_->job_network(job), "{}");
  EXPECT_FALSE(store_->save_job_network(job + 1, "{}").ok());
}

INSTANTIATE_TEST_SUITE_P(Stores, PointsContract, every_kind_of_store(), name_of_kind);

// As of a tuner's records, which have no rows: the base class alone.
class Lines : public Records {
 public:
  explicit Lines(std::vector<Measurement> all) : all_(std::move(all)) {}
  absl::StatusOr<std::vector<Measurement>> top(const BestQuery&, size_t) override { return all_; }
  absl::StatusOr<Workload> find_workload(const std::string&) override { return conv_workload(); }
  absl::StatusOr<std::vector<Workload>> workloads() override { return std::vector<Workload>(); }
  absl::StatusOr<std::vector<tensor::KernelKey>> problems() override {
    return std::vector<tensor::KernelKey>();
  }
  absl::Status scan(const Filter&, const Visitor& visit) override {
    for (const Measurement& m : all_)
      if (const absl::Status status = visit(m); !status.ok()) return status;
    return absl::OkStatus();
  }
  absl::StatusOr<Measurement> find_record(const Digest&) override { return all_[0]; }
  absl::StatusOr<bool> is_measured(const tensor::KernelKey&, const std::string&) override { return true; }
  absl::StatusOr<std::vector<NetworkVerdict>> verdicts() override { return std::vector<NetworkVerdict>(); }

 private:
  std::vector<Measurement> all_;
};

TEST(PointsOfLines, AreNumberedInTheirOrderAndHaveNoJobs) {
  Lines records({measured(100), measured(200), measured(300)});
  std::vector<double> seen;
  ASSERT_TRUE(records.points(1, [&](const Point& p) { return seen.push_back(p.ns), absl::OkStatus(); }).ok());
  EXPECT_THAT(seen, ElementsAre(200, 300));
  EXPECT_EQ(records.find_row(3)->median_ns(), 300);
  EXPECT_THAT(std::string(records.find_row(4).status().message()), HasSubstr("no measurement in row 4"));
  EXPECT_TRUE(records.jobs()->empty());
  EXPECT_EQ(records.find_job(1).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tf::database
