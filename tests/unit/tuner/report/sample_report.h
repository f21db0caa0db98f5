#pragma once
// Owns: a small database of one job and its kernels, made by hand, for the tests of reports.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "database/memory_store.h"
#include "database/store.h"
#include "tuner/report/kernel_id.h"
#include "tuner/report/report.h"

namespace tf::report {

class ReportTest : public testing::Test {
 protected:
  static constexpr int64_t kBegan = 1'700'000'000'000'000'000;

  // y[i] = x[i] * x[i], of so many elements.
  static database::Workload workload(int size) {
    return {.text = absl::StrCat("workload v1\ninput p0: f32[", size, "]\nstage t0: f32[i0 < ", size,
                                 "] = p0[i0] * p0[i0]\noutput t0\n"),
            .op = absl::StrCat("square ", size),
            .flops = static_cast<double>(size)};
  }
  static tensor::KernelKey key(int size) {
    return {.workload = workload(size).key(), .target = "x86_64", .threads = 1};
  }
  static std::string id(int size) { return kernel_id(key(size)); }

  void SetUp() override {
    for (const int size : {8, 16, 32}) ASSERT_TRUE(store_->add_workload(workload(size)).ok());
  }

  int64_t add_job(const std::string& device = "desk", const std::string& options = "{}") {
    return store_
        ->add_job({.model_name = "net.onnx",
                   .target = "x86_64",
                   .device = device,
                   .options = options,
                   .state = database::JobState::kRunning,
                   .created_unix_ns = kBegan - 5,
                   .started_unix_ns = kBegan})
        .value();
  }

  void add_tasks(int64_t job, const std::vector<std::pair<int, double>>& sizes_and_weights) {
    std::vector<database::JobTask> tasks;
    for (const auto& [size, weight] : sizes_and_weights)
      tasks.push_back({.job_id = job,
                       .index = static_cast<int32_t>(tasks.size()),
                       .problem = key(size),
                       .label = workload(size).op,
                       .weight = weight});
    ASSERT_TRUE(store_->save_job_tasks(tasks).ok());
  }

  // A measurement of the kernel of that size: schedule by number, `ns` for ok ones.
  static database::Measurement measured(int size, int schedule, int64_t ns, double at_s, int64_t job) {
    database::Measurement m;
    m.problem = key(size);
    m.schedule = absl::StrCat("split(s0, 0, ", schedule, ")");
    m.semantics_version = 1;
    m.samples = {{ns * 10, 10}, {ns * 10, 10}, {ns * 10, 10}};
    m.device = {.device_class = "desk", .fingerprint = "f00d", .model = "A CPU"};
    m.job_id = job;
    m.finished_unix_ns = kBegan + static_cast<int64_t>(at_s * 1e9);
    return m;
  }
  static database::Measurement failed(int size, int schedule, database::Outcome outcome, double at_s,
                                      int64_t job) {
    database::Measurement m = measured(size, schedule, 1, at_s, job);
    m.samples.clear();
    m.outcome = outcome;
    m.detail = "it failed";
    return m;
  }
  int64_t insert(const database::Measurement& m, database::Origin origin = database::Origin::kLive) {
    const absl::StatusOr<database::InsertResult> result = store_->insert(m, origin);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->id : 0;
  }

  template <typename Request>
  static Request of_job(int64_t job) {
    Request request;
    request.set_job_id(job);
    return request;
  }
  template <typename Request>
  static Request of_kernel(const std::string& kernel) {
    Request request;
    request.set_kernel_id(kernel);
    return request;
  }

  const std::unique_ptr<database::Store> store_ = database::make_memory_store();
  Report report_{*store_};
};

}  // namespace tf::report
