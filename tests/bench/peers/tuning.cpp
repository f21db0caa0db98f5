#include "tests/bench/peers/tuning.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/machine/cpu_list.h"
#include "base/status.h"
#include "compiler/driver/build_pool.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/bench/kernels/kernel_task.h"
#include "tuner/cli/cpu_split.h"
#include "tuner/measure/local_runner.h"
#include "tuner/session/session.h"

namespace tf::peers {
namespace {

constexpr double kSliceMinutes = 0.5;
constexpr char kExhausted[] = "its space is exhausted";  // detail of a job: more time would find nothing

// By which a kernel's jobs are found again.
std::string job_options(const TuneOptions& options) {
  return absl::StrCat("{\"threads\":", options.threads,
                      ",\"row_major\":", options.row_major ? "true" : "false", ",\"allow\":\"",
                      absl::StrJoin(options.allowed_numerics, ","), "\"}");
}

struct Tuned {
  const bench::Kernel* kernel;
  double minutes = 0;  // so far
};

absl::StatusOr<std::vector<Tuned>> tuned_so_far(std::span<const bench::Kernel> kernels,
                                                const TuneOptions& options, database::Store& store) {
  TF_ASSIGN_OR_RETURN(const std::vector<database::Job> jobs, store.jobs());
  std::vector<Tuned> all;
  for (const bench::Kernel& kernel : kernels) {
    Tuned tuned{&kernel};
    for (const database::Job& job : jobs) {
      if (job.state == database::JobState::kDone && job.model_name == kernel.name &&
          job.target == options.target.text() && job.options == job_options(options))
        tuned.minutes += job.detail == kExhausted
                             ? options.minutes_per_kernel
                             : static_cast<double>(job.finished_unix_ns - job.started_unix_ns) / 60e9;
    }
    all.push_back(tuned);
  }
  return all;
}

struct TuningBench {
  std::unique_ptr<database::Store> store;
  std::unique_ptr<measure::LocalRunner> runner;
  std::unique_ptr<driver::BuildPool> builder;
};

absl::StatusOr<TuningBench> open_bench(const std::string& database, int threads) {
  TuningBench bench;
  TF_ASSIGN_OR_RETURN(bench.store, database::open_sqlite_store(database));
  const tuner_cli::CpuSplit split = tuner_cli::split_cpus(tuner_cli::allowed_cpus(), threads);
  TF_ASSIGN_OR_RETURN(bench.runner,
                      measure::LocalRunner::start({.cpus = split.measure, .spare_cpus = split.rest}));
  stay_on(split.rest);  // before any thread or build worker is started
  const int workers = std::max(1, static_cast<int>(split.rest.size()));
  TF_ASSIGN_OR_RETURN(bench.builder, driver::BuildPool::create({.workers = workers}));
  return bench;
}

absl::Status tune_slice(const bench::Kernel& kernel, double minutes, const TuneOptions& options,
                        TuningBench& bench) {
  database::Job job{.model_name = kernel.name,
                    .target = options.target.text(),
                    .options = job_options(options),
                    .state = database::JobState::kRunning,
                    .created_unix_ns = absl::GetCurrentTimeNanos()};
  job.started_unix_ns = job.created_unix_ns;
  TF_ASSIGN_OR_RETURN(job.id, bench.store->add_job(job));
  session::SessionOptions session{.target = options.target,
                                  .threads = options.threads,
                                  .budget = {.minutes = minutes},
                                  .seed = static_cast<uint64_t>(job.id),
                                  .allowed_numerics = options.allowed_numerics,
                                  .job_id = job.id};
  const std::atomic<bool> stop = false;
  const std::vector<session::Task> tasks = {bench::task_of(kernel, options.target, options.row_major)};
  TF_ASSIGN_OR_RETURN(const session::Progress progress,
                      session::tune(tasks, session, *bench.builder, *bench.runner, *bench.store, stop,
                                    [](const session::Progress&) {}));
  std::fprintf(stderr, "%-30s %5lld trials, best %10.1f us, %6.1f GFLOP/s\n", kernel.name.c_str(),
               static_cast<long long>(progress.trials()), progress.tasks(0).best_ns() / 1e3,
               progress.tasks(0).best_ns() > 0 ? bench::flops_of(kernel) / progress.tasks(0).best_ns() : 0);
  job.state = database::JobState::kDone;
  job.detail = progress.tasks(0).exhausted() ? kExhausted : absl::StrCat(progress.trials(), " trials");
  job.finished_unix_ns = absl::GetCurrentTimeNanos();
  return bench.store->update_job(job);
}

}  // namespace

absl::Status tune_kernels(std::span<const bench::Kernel> kernels, const TuneOptions& options,
                          const std::string& database) {
  TF_ASSIGN_OR_RETURN(TuningBench bench, open_bench(database, options.threads));
  for (double left = options.minutes; left > 0;) {
    TF_ASSIGN_OR_RETURN(const std::vector<Tuned> tuned, tuned_so_far(kernels, options, *bench.store));
    const Tuned& next = *std::min_element(
        tuned.begin(), tuned.end(), [](const Tuned& a, const Tuned& b) { return a.minutes < b.minutes; });
    const double slice = std::min({kSliceMinutes, left, options.minutes_per_kernel - next.minutes});
    if (slice < 0.01) break;
    const absl::Time start = absl::Now();
    TF_RETURN_IF_ERROR(tune_slice(*next.kernel, slice, options, bench));
    left -= absl::ToDoubleMinutes(absl::Now() - start);
  }
  return absl::OkStatus();
}

}  // namespace tf::peers
