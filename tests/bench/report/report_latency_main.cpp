// How long the answers about a large database take: makes one with so many measurements, of several jobs, kernels and
// machines, through the real store, and asks everything that the dashboard asks, as for the first time and again.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/cli/command_line.h"
#include "base/cli/exit_code.h"
#include "base/files/temporary_folder.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/bench/figures/process_figures.h"
#include "tests/bench/figures/quantiles.h"
#include "tuner/report/report.h"

namespace {

using namespace tf::database;  // NOLINT: most of the program is about records
namespace pb = tunefarm::tune::v1;
using SteadyClock = std::chrono::steady_clock;

struct Options {
  int64_t rows = 1'000'000;
  int jobs = 8;
  int kernels = 60;  // of each job; half of them are of all jobs
  int asked = 20;
  std::string keep, json;
};

double ms_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

Workload workload_of(int64_t size) {
  const std::string extent = absl::StrCat(size);
  return {.text = absl::StrCat("workload v1\ninput p0: f32[", extent, ", 64]\nconstant p1: f32[64, ", extent,
                               "]\nstage t0: f32[i0 < ", extent, ", i1 < ", extent,
                               "] = reduce sum[r0 < 64] p0[i0, r0] * p1[r0, i1]\noutput t0\n"),
          .op = absl::StrCat("dense+relu ", extent, "x", extent),
          .flops = 128.0 * static_cast<double>(size * size)};
}

// Measurements as a tuner makes them: times that fall, failures among them, in the end some that were measured again.
class Measurements {
 public:
  Measurements(Store& store, const Options& options) : store_(store), options_(options) {}

  void make() {
    for (int job = 1; job <= options_.jobs; ++job) make_job(job);
  }

 private:
  int workload_number(int job, int kernel) const {
    return kernel % 2 == 0 ? kernel : options_.kernels * job + kernel;
  }

  void make_job(int job) {
    Job row{.model_name = absl::StrCat("net", job, ".onnx"),
            .target = "x86_64",
            .device = "box",
            .options = R"({"target": "x86_64", "threads": 1})",
            .state = JobState::kRunning,
            .created_unix_ns = time_,
            .started_unix_ns = time_};
    row.id = store_.add_job(row).value();
    std::vector<JobTask> tasks;
    for (int kernel = 0; kernel < options_.kernels; ++kernel) {
      const Workload workload = workload_of(64 + 8 * workload_number(job, kernel));
      TF_CHECK(store_.add_workload(workload).ok());
      tasks.push_back({.job_id = row.id,
                       .index = kernel,
                       .problem = {.workload = workload.key(), .target = "x86_64"},
                       .label = workload.op,
                       .weight = 1.0 + kernel % 4});
    }
    TF_CHECK(store_.save_job_tasks(tasks).ok());
    const int64_t rows = options_.rows / options_.jobs;
    for (int64_t i = 0; i < rows; ++i)
      insert(row.id, tasks[random_() % tasks.size()].problem, i,
             static_cast<double>(i) / static_cast<double>(rows));
  }

  void insert(int64_t job, const tf::tensor::KernelKey& problem, int64_t number, double progress) {
    Measurement m;
    m.problem = problem;
    const bool again = progress > 0.99;  // of the last, many meet once more
    m.schedule =
        absl::StrCat("tile(s0, 0, ", again ? number % 500 : number, "); tile(s0, 1, 8); reorder(s0, ",
                     "0, 2, 1, 3, 4); vectorize(s0, 4); unroll(s0, 3); parallel(s0, 0)");
    m.semantics_version = 1;
    m.sketch_hash = "0123456789abcdef";
    m.choices = {4, 8, 16, 2, 1, 3, 4};
    m.untuned = number < 2;
    m.job_id = job;
    m.device = {.device_class = "box",
                .fingerprint = absl::StrCat("machine", random_() % 4),
                .model = "A CPU",
                .clock_mhz = 3700,
                .temperature_c = 61,
                .governor = "performance"};
    m.code_digest = std::string(64, 'c');
    m.artifact_digest = std::string(64, 'a');
    m.cache_mode = CacheMode::kRotate;
    m.finished_unix_ns = time_ += 300'000'000;
    const uint64_t luck = random_() % 10;
    if (luck == 0) {
      m.outcome = static_cast<Outcome>(3 + random_() % 6);
      m.detail = "candidate failed: the reason is given here";
    } else {
      m.outcome = luck < 3 ? Outcome::kStoppedEarly : Outcome::kOk;
      const double noise = 1 + static_cast<double>(random_() % 1000) / 200;
      const auto ns = static_cast<int64_t>(1e6 * noise * (0.3 + std::exp(-4 * progress)));
      for (int i = 0; i < 5; ++i) m.samples.push_back({ns * 10 + i, 10});
    }
    store_.insert_async(m, Origin::kLive, [](const absl::StatusOr<InsertResult>& result) {
      TF_CHECK(result.ok()) << result.status();
    });
    if (++inserted_ % 5000 == 0) {
      TF_CHECK(store_.add_workload(workload_of(1)).ok());  // waits for what is queued
      std::fprintf(stderr, "\r%lld measurements", static_cast<long long>(inserted_));
    }
  }

  Store& store_;
  const Options options_;
  std::mt19937_64 random_{1};
  int64_t inserted_ = 0;
  int64_t time_ = 1'700'000'000'000'000'000;
};

// The first answer, and then the quantiles of further ones.
nlohmann::ordered_json time_of(const Options& options, const std::function<absl::StatusOr<size_t>()>& ask) {
  nlohmann::ordered_json out;
  std::vector<double> ms;
  for (int i = 0; i <= options.asked; ++i) {
    const auto begin = SteadyClock::now();
    const absl::StatusOr<size_t> bytes = ask();
    TF_CHECK(bytes.ok()) << bytes.status();
    if (i == 0) {
      out["bytes"] = *bytes;
      out["first_ms"] = ms_since(begin);
    } else {
      ms.push_back(ms_since(begin));
    }
  }
  out["ms"] = tf::bench::quantiles(std::move(ms));
  return out;
}

template <typename Reply>
absl::StatusOr<size_t> size_of(const absl::StatusOr<Reply>& reply) {
  if (!reply.ok()) return reply.status();
  return reply->ByteSizeLong();
}

nlohmann::ordered_json run(const Options& options, const std::string& path) {
  nlohmann::ordered_json out;
  if (!std::filesystem::exists(path)) {
    auto store = open_sqlite_store(path);
    TF_CHECK(store.ok()) << store.status();
    Measurements(**store, options).make();
    std::fprintf(stderr, "\n");
  }
  out["file_bytes"] = std::filesystem::file_size(path);
  auto records = open_sqlite_records(path);
  TF_CHECK(records.ok()) << records.status();
  tf::report::Report report(**records);
  const auto begin = SteadyClock::now();
  auto kernels = report.list_kernels({});
  TF_CHECK(kernels.ok()) << kernels.status();
  out["load_and_list_ms"] = ms_since(begin);
  const int64_t job = (*records)->jobs()->back().id;
  pb::DescribeJobRequest of_job;
  of_job.set_job_id(job);
  out["DescribeJob"] = time_of(options, [&] { return size_of(report.describe_job(of_job)); });
  out["ListKernels"] = time_of(options, [&] { return size_of(report.list_kernels({})); });
  pb::ListKernelsRequest of_jobs_kernels;
  of_jobs_kernels.set_job_id(job);
  out["ListKernels of a job"] =
      time_of(options, [&] { return size_of(report.list_kernels(of_jobs_kernels)); });
  pb::ListKernelsRequest search;
  search.set_search("RELU 64");
  out["ListKernels searched"] = time_of(options, [&] { return size_of(report.list_kernels(search)); });
  const auto largest = std::ranges::max_element(kernels->kernels(), {}, &pb::KernelRow::trials);
  pb::DescribeKernelRequest kernel;
  kernel.set_kernel_id(largest->kernel_id());
  out["DescribeKernel"] = time_of(options, [&] { return size_of(report.describe_kernel(kernel)); });
  pb::ListCandidatesRequest all;
  all.set_kernel_id(largest->kernel_id());
  out["ListCandidates"] = time_of(options, [&] { return size_of(report.list_candidates(all)); });
  pb::DescribeCandidateRequest candidate;
  candidate.set_row(static_cast<uint32_t>(options.rows / 2));
  out["DescribeCandidate"] = time_of(options, [&] { return size_of(report.describe_candidate(candidate)); });
  out["resident_bytes"] = tf::bench::figures_of(getpid()).resident_bytes;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Says how long answers about a large database take", "report_latency");
  app.add_option("--rows", options.rows, "Measurements")->capture_default_str();
  app.add_option("--jobs", options.jobs, "Jobs that made them")->capture_default_str();
  app.add_option("--kernels", options.kernels, "Kernels of each job")->capture_default_str();
  app.add_option("--asked", options.asked, "How often each question is asked again")->capture_default_str();
  app.add_option("--keep", options.keep,
                 "Database to use, made if it does not exist, and kept [a temporary one]");
  app.add_option("--json", options.json, "File for the report, which is printed anyway");
  app.footer("Example: report_latency --rows 1000000 --keep /mnt/disk/million.db");
  if (const std::optional<int> done = tf::parse_command_line(app, argc, argv)) return *done;
  const auto folder = tf::TemporaryFolder::make();
  if (!folder.ok()) return tf::report_error("report_latency", folder.status());
  const auto report = run(options, options.keep.empty() ? folder->file("large.db") : options.keep);
  std::printf("%s\n", report.dump(2).c_str());
  if (!options.json.empty()) std::ofstream(options.json) << report.dump(2) << "\n";
  return tf::kExitOk;
}
