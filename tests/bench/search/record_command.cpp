#include "tests/bench/search/record_command.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/cli/counted.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/text/json_text.h"
#include "database/sqlite/sqlite_store.h"
#include "device_agent/worker/sandbox_capabilities.h"
#include "tests/bench/search/replay/recorder.h"

namespace tf::replay {
namespace {

std::atomic<bool> stop = false;

// The first Ctrl-C lets the present candidate finish, the second ends the process.
void stop_on_signal(int signal) {
  stop = true;
  std::signal(signal, SIG_DFL);
}

absl::StatusOr<std::unique_ptr<database::Store>> open_pool(const Bench& bench, const BenchTask& task) {
  TF_ASSIGN_OR_RETURN(auto store, database::open_sqlite_store(bench.pool_path(task)));
  TF_RETURN_IF_ERROR(
      store->add_workload({tensor::canonical_text(task.task.kernel.workload), task.task.label, task.flops}));
  TF_ASSIGN_OR_RETURN(const std::vector<database::Job> jobs, store->jobs());
  for (const Source source : kSources) {
    if (jobs.size() >= static_cast<size_t>(source)) continue;
    TF_RETURN_IF_ERROR(store
                           ->add_job({.model_name = source_name(source),
                                      .target = bench.target.text(),
                                      .state = database::JobState::kRunning})
                           .status());
  }
  return store;
}

// More runs, with seeds of their own, until the pool has half of its candidates from each source.
absl::Status fill_up(const Bench& bench, Recorder& recorder, const Recording& recording) {
  constexpr int kRuns = 4;
  const std::pair<Source, search::Kind> fillers[] = {{Source::kRandom, search::Kind::kRandom},
                                                     {Source::kLate, search::Kind::kEvolutionary}};
  for (const auto& [source, kind] : fillers) {
    const int64_t wanted = bench.arguments.candidates / 2;
    // Some of what runs propose is known already; a small space has no more than so many.
    const int64_t most_runs = 8 * wanted / bench.arguments.trials + kRuns;
    for (int64_t run = 0; run < most_runs && recording.pool.count(source) < wanted; run += kRuns) {
      RunSetOptions options = bench.runs;
      options.contenders = {{kind, SamplingPolicy::kRacing}};
      options.seeds = kRuns;
      options.first_seed = 1001 + static_cast<uint64_t>(run);
      TF_ASSIGN_OR_RETURN(RunSet runs, RunSet::create(recording.task.task, options));
      TF_RETURN_IF_ERROR(recorder.record(runs, recording));
      if (recorder.is_over()) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

// Replicate number `replicate` of the task's candidates; the first also finds them.
absl::Status record_task(const Bench& bench, const BenchTask& task, size_t replicate, Recorder& recorder,
                         int64_t left_elsewhere) {
  TF_ASSIGN_OR_RETURN(const auto store, open_pool(bench, task));
  TF_ASSIGN_OR_RETURN(Pool pool, read_pool(*store, bench.problem(task)));
  const std::string target = bench.target.text();
  const Recording recording{task, target, *store, pool, left_elsewhere};
  if (replicate > 1) return recorder.revisit(replicate, recording);
  TF_ASSIGN_OR_RETURN(RunSet runs, make_runs(bench, task));
  TF_RETURN_IF_ERROR(recorder.record(runs, recording));
  if (!recorder.is_over()) TF_RETURN_IF_ERROR(fill_up(bench, recorder, recording));
  std::fprintf(stderr, "%-28s %3.0f%% covered, %lld random and %lld late candidates, best %.1f us\n",
               task.task.label.c_str(), 100 * runs.coverage(),
               static_cast<long long>(pool.count(Source::kRandom)),
               static_cast<long long>(pool.count(Source::kLate)), pool.best_seconds() * 1e6);
  return absl::OkStatus();
}

// Describes the machine, for who reads the figures and for the roofline model.
absl::Status record_machine(Bench& bench, Recorder& recorder) {
  const Machine machine = recorder.machine();
  // A busy machine shows less than its peak.
  const double peak = std::max(machine.peak_gflops, bench.machine.peak_gflops);
  TF_RETURN_IF_ERROR(write_file(
      bench.machine_path(),
      json_text({{"model", machine.model}, {"fingerprint", machine.fingerprint}, {"peak_gflops", peak}}, 1) +
          "\n"));
  TF_ASSIGN_OR_RETURN(const auto store, database::open_sqlite_store(bench.calibration_path()));
  TF_ASSIGN_OR_RETURN(bench.runs.measured, recorder.measure_rates(*store, bench.target));
  return absl::OkStatus();
}

// All tasks once, then what starts from their pools, then all of them again: replicates of one candidate are
// minutes apart, and of what time allows every task has its share.
struct Round {
  Bench bench;
  int replicate = 1;
};
std::vector<Round> rounds_of(const Bench& bench) {
  Bench alone = bench, remembering = bench;
  std::erase_if(alone.runs.contenders, [](const Contender& each) { return each.remembers; });
  std::erase_if(remembering.runs.contenders, [](const Contender& each) { return !each.remembers; });
  remembering.arguments.candidates = 0;  // the pools have theirs by then
  std::vector<Round> rounds = {{std::move(alone), 1}};
  if (!remembering.runs.contenders.empty()) rounds.push_back({std::move(remembering), 1});
  for (int replicate = 2; replicate <= bench.arguments.replicates; ++replicate)
    rounds.push_back({bench, replicate});
  return rounds;
}

}  // namespace

absl::Status record(const Bench& described) {
  Bench bench = described;
  const Arguments& arguments = bench.arguments;
  TF_ASSIGN_OR_RETURN(const worker::SandboxPolicy sandbox,
                      worker::parse_without_sandbox(arguments.without_sandbox));
  std::error_code failed;
  std::filesystem::create_directories(arguments.pools, failed);
  if (failed) return absl::PermissionDeniedError(absl::StrCat(arguments.pools, ": ", failed.message()));
  std::signal(SIGINT, stop_on_signal);
  std::signal(SIGTERM, stop_on_signal);
  auto deadline = std::chrono::steady_clock::time_point::max();
  constexpr double kMostMinutes = 1e6;  // which the clock holds
  if (arguments.minutes > 0)
    deadline = std::chrono::steady_clock::now() +
               std::chrono::milliseconds(std::llround(std::min(arguments.minutes, kMostMinutes) * 6e4));
  TF_ASSIGN_OR_RETURN(Recorder recorder, Recorder::start(arguments.threads, sandbox, stop, deadline));
  TF_RETURN_IF_ERROR(record_machine(bench, recorder));
  const std::vector<Round> rounds = rounds_of(bench);
  const auto trials_of = [&](const Round& round) {
    return static_cast<int64_t>(round.bench.runs.contenders.size()) * arguments.seeds * arguments.trials;
  };
  int64_t left = 0;
  for (const Round& round : rounds) left += trials_of(round) * static_cast<int64_t>(bench.tasks.size());
  for (const Round& round : rounds) {
    for (const BenchTask& task : bench.tasks) {
      left -= trials_of(round);
      if (!recorder.is_over())
        TF_RETURN_IF_ERROR(
            record_task(round.bench, task, static_cast<size_t>(round.replicate), recorder, left));
    }
  }
  const std::string replicates = counted(recorder.measured(), "replicate");
  if (stop)
    return absl::CancelledError(
        absl::StrCat("interrupted after ", replicates, "; run the same command to continue"));
  std::fprintf(stderr, "%s%s\n", replicates.c_str(),
               recorder.is_over() ? "; record again to go on" : "; everything is recorded");
  return absl::OkStatus();
}

}  // namespace tf::replay
