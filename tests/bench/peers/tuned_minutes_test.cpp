// How run.sh asks the database for how long a network was tuned.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_store.h"
#include "tuner/service/jobs/job_spec.h"

namespace tf::peers {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

service::JobSpec spec_of(const std::string& model, uint32_t threads,
                         const std::vector<std::string>& numerics = {}, const std::string& target = "host") {
  service::JobSpec spec = service::default_spec();
  spec.set_model_name(model);
  spec.set_target(target);
  spec.set_threads(threads);
  spec.mutable_allowed_numerics()->Assign(numerics.begin(), numerics.end());
  return spec;
}

class TunedMinutes : public testing::Test {
 protected:
  void SetUp() override {
    auto store = database::open_sqlite_store(file_());
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    ASSERT_TRUE(store_->add_workload(workload_).ok());
  }

  // A job with a measurement at each of those times.
  void job(const service::JobSpec& spec, const std::vector<int64_t>& seconds, int64_t finished_s = 0) {
    database::Job job{.model_name = spec.model_name(),
                      .target = spec.target(),
                      .options = service::to_json(spec),
                      .state = finished_s > 0 ? database::JobState::kDone : database::JobState::kPaused,
                      .started_unix_ns = kSecond,
                      .finished_unix_ns = finished_s * kSecond};
    const absl::StatusOr<int64_t> id = store_->add_job(job);
    ASSERT_TRUE(id.ok()) << id.status();
    for (const int64_t second : seconds) {
      database::Measurement m;
      m.problem = {.workload = workload_.key(), .target = "x86_64", .threads = spec.threads()};
      m.schedule = std::to_string(*id) + " at " + std::to_string(second);
      m.samples = {{1000, 1}};
      m.job_id = *id;
      m.finished_unix_ns = second * kSecond;
      ASSERT_TRUE(store_->insert(m).ok());
    }
  }

  double minutes(const std::string& model, int threads, const std::string& allow) {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(file_().c_str(), &db), SQLITE_OK);
    const std::string sql = *read_file(TF_SOURCE_DIR "/tests/bench/peers/tuned_minutes.sql");
    sqlite3_stmt* query = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &query, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    const auto bind = [&](const char* name, const std::string& value) {
      sqlite3_bind_text(query, sqlite3_bind_parameter_index(query, name), value.c_str(), -1,
                        SQLITE_TRANSIENT);
    };
    bind(":model", model);
    bind(":target", "host");
    bind(":allow", allow);
    sqlite3_bind_int(query, sqlite3_bind_parameter_index(query, ":threads"), threads);
    EXPECT_EQ(sqlite3_step(query), SQLITE_ROW);
    const double result = sqlite3_column_double(query, 0);
    sqlite3_finalize(query);
    sqlite3_close(db);
    return result;
  }

  std::string file_() const { return folder_.file("tuning.db"); }
  const TemporaryFolder folder_ = *TemporaryFolder::make();
  std::unique_ptr<database::Store> store_;
  const database::Workload workload_{.text = "w", .op = "w", .flops = 1};
};

TEST_F(TunedMinutes, AreThoseOfTheNetworkItselfAsItIsAskedFor) {
  job(spec_of("resnet50.onnx", 2), {100, 110, 130}, 3600);
  job(spec_of("resnet50.onnx", 2), {1000, 1012});
  job(spec_of("resnet50.onnx", 2, {"bf16", "winograd"}), {100, 106});
  job(spec_of("resnet50.onnx", 1), {100, 103});
  job(spec_of("resnet50.onnx", 2, {}, "x86_64:cpu=haswell"), {100, 120});
  job(spec_of("resnet50_3x3_64", 2), {100, 120}, 200);
  EXPECT_DOUBLE_EQ(minutes("resnet50.onnx", 2, "[]"), 42 / 60.0);
  EXPECT_DOUBLE_EQ(minutes("resnet50.onnx", 2, R"(["bf16","winograd"])"), 6 / 60.0);
  EXPECT_DOUBLE_EQ(minutes("resnet50.onnx", 1, "[]"), 3 / 60.0);
  EXPECT_EQ(minutes("resnet5", 2, "[]"), 0);
}

TEST_F(TunedMinutes, LeaveOutPauses) {
  job(spec_of("mlp.onnx", 1), {100, 110, 7000, 7005}, 7010);
  EXPECT_DOUBLE_EQ(minutes("mlp.onnx", 1, "[]"), 15 / 60.0);
}

}  // namespace
}  // namespace tf::peers
