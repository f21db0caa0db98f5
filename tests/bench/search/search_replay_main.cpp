// Strategies against each other on recorded measurements, and models against what was measured. README.md
// says what the figures mean.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/command_line.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/status.h"
#include "database/sqlite_store.h"
#include "tests/bench/search/replay/explain.h"
#include "tests/bench/search/replay/recorder.h"
#include "tests/bench/search/replay/report.h"

namespace tf::replay {
namespace {

constexpr char kBaseline[] = "ansor";

struct Arguments {
  std::string pools = "build/search", tasks = ".*", strategies = "evolutionary,ansor,random", json, plots;
  int threads = 1;
  int seeds = 5;
  int trials = 256;
  int64_t candidates = 2000;
  int visits = 4;
  double minutes = 0;
  int cpus = 0;
};

struct Bench {
  Arguments arguments;
  target::Target target = target::host_target();
  std::vector<BenchTask> tasks;
  RunSetOptions runs;

  std::string pool_path(const BenchTask& task) const {
    return absl::StrCat(arguments.pools, "/", task.task.label, ".db");
  }
  std::string machine_path() const { return arguments.pools + "/machine.json"; }
  database::Problem problem(const BenchTask& task) const {
    return session::problem_of(task.task, target.text(), arguments.threads);
  }
};

absl::StatusOr<Bench> make_bench(const Arguments& arguments) {
  Bench bench{.arguments = arguments};
  try {
    const std::regex pattern(arguments.tasks);
    for (BenchTask& task : bench_tasks(bench.target))
      if (std::regex_search(task.task.label, pattern)) bench.tasks.push_back(std::move(task));
  } catch (const std::regex_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tasks ", arguments.tasks, " is not a regular expression: ", error.what()));
  }
  if (bench.tasks.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("no task's name has '", arguments.tasks, "' in it; `search_replay tasks` prints all"));
  bench.runs = {.target = bench.target,
                .threads = arguments.threads,
                .contenders = {},
                .seeds = arguments.seeds,
                .trials = arguments.trials};
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(arguments.strategies, ','))) {
    TF_ASSIGN_OR_RETURN(const Contender contender, contender_from_name(name));
    bench.runs.contenders.push_back(contender);
  }
  return bench;
}

// What judges recorded measurements needs some.
absl::Status require_pools(const Bench& bench) {
  for (const BenchTask& task : bench.tasks)
    if (std::filesystem::exists(bench.pool_path(task))) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("there is no pool of these tasks in ", bench.arguments.pools,
                                          ": record some with `search_replay record`"));
}

// Nothing recorded yet is an empty pool.
absl::StatusOr<Pool> stored_pool(const Bench& bench, const BenchTask& task) {
  if (!std::filesystem::exists(bench.pool_path(task))) return Pool();
  TF_ASSIGN_OR_RETURN(const auto records, database::open_sqlite_records(bench.pool_path(task)));
  return read_pool(*records, bench.problem(task));
}

// What the pools of all tasks of other networks than this one's, or of none, teach; null if nobody remembers.
absl::StatusOr<std::shared_ptr<const Memory>> memory_of(const Bench& bench, const BenchTask& task) {
  const std::vector<Contender>& contenders = bench.runs.contenders;
  if (std::none_of(contenders.begin(), contenders.end(),
                   [](const Contender& each) { return each.remembers; }))
    return nullptr;
  auto memory = std::make_shared<Memory>();
  for (const BenchTask& other : bench_tasks(bench.target)) {
    if (other.network == task.network || !std::filesystem::exists(bench.pool_path(other))) continue;
    TF_ASSIGN_OR_RETURN(const auto records, database::open_sqlite_records(bench.pool_path(other)));
    TF_RETURN_IF_ERROR(memory->history.read(
        *records,
        {.target = bench.target, .threads = bench.arguments.threads, .own = {bench.problem(task)}}));
  }
  memory->prior = session::prior_of(memory->history, {});
  return memory;
}

// What the contenders do on a task.
absl::StatusOr<RunSet> make_runs(const Bench& bench, const BenchTask& task) {
  RunSetOptions options = bench.runs;
  TF_ASSIGN_OR_RETURN(options.memory, memory_of(bench, task));
  return RunSet::create(task.task, options);
}

// Of one thread, as recording found it; 0: never recorded here.
double peak_gflops(const Bench& bench) {
  const absl::StatusOr<std::string> text = read_file(bench.machine_path());
  if (!text.ok()) return 0;
  const nlohmann::json machine = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  return machine.is_object() ? machine.value("peak_gflops", 0.0) : 0;
}

std::atomic<bool> stop = false;

// The first Ctrl-C lets the present candidate finish, the second ends the process.
void stop_on_signal(int signal) {
  stop = true;
  std::signal(signal, SIG_DFL);
}

absl::StatusOr<std::unique_ptr<database::Store>> open_pool(const Bench& bench, const BenchTask& task) {
  TF_ASSIGN_OR_RETURN(auto store, database::open_sqlite_store(bench.pool_path(task)));
  TF_RETURN_IF_ERROR(
      store->add_workload({tensor::canonical_text(task.task.workload), task.task.label, task.flops}));
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

// Visit number `visit` of the task's candidates; the first also finds them.
absl::Status record_task(const Bench& bench, const BenchTask& task, size_t visit, Recorder& recorder,
                         int64_t left_elsewhere) {
  TF_ASSIGN_OR_RETURN(const auto store, open_pool(bench, task));
  TF_ASSIGN_OR_RETURN(Pool pool, read_pool(*store, bench.problem(task)));
  const std::string target = bench.target.text();
  const Recording recording{task, target, *store, pool, left_elsewhere};
  if (visit > 1) return recorder.revisit(visit, recording);
  TF_ASSIGN_OR_RETURN(RunSet runs, make_runs(bench, task));
  TF_RETURN_IF_ERROR(recorder.record(runs, recording));
  if (!recorder.is_over()) TF_RETURN_IF_ERROR(fill_up(bench, recorder, recording));
  std::fprintf(stderr, "%-28s %3.0f%% covered, %lld random and %lld late candidates, best %.1f us\n",
               task.task.label.c_str(), 100 * runs.coverage(),
               static_cast<long long>(pool.count(Source::kRandom)),
               static_cast<long long>(pool.count(Source::kLate)), pool.best_seconds() * 1e6);
  return absl::OkStatus();
}

absl::Status record(const Bench& bench) {
  const Arguments& arguments = bench.arguments;
  std::error_code failed;
  std::filesystem::create_directories(arguments.pools, failed);
  if (failed) return absl::PermissionDeniedError(absl::StrCat(arguments.pools, ": ", failed.message()));
  std::signal(SIGINT, stop_on_signal);
  std::signal(SIGTERM, stop_on_signal);
  auto deadline = std::chrono::steady_clock::time_point::max();
  if (arguments.minutes > 0)
    deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(std::llround(arguments.minutes * 6e4));
  TF_ASSIGN_OR_RETURN(Recorder recorder, Recorder::start(arguments.threads, stop, deadline));
  const Machine machine = recorder.machine();
  // A busy machine shows less than its peak.
  const double peak = std::max(machine.peak_gflops, peak_gflops(bench));
  TF_RETURN_IF_ERROR(write_file(bench.machine_path(),
                                json_text({{"model", machine.model}, {"peak_gflops", peak}}, 1) + "\n"));
  // All tasks once, then all of them again: visits of one candidate are minutes apart, and of what time
  // allows every task has its share.
  const int64_t trials =
      static_cast<int64_t>(bench.runs.contenders.size()) * arguments.seeds * arguments.trials;
  const auto tasks = static_cast<int64_t>(bench.tasks.size());
  int64_t left = trials * tasks * arguments.visits;
  for (int visit = 1; visit <= arguments.visits; ++visit) {
    for (const BenchTask& task : bench.tasks) {
      left -= trials;
      if (!recorder.is_over())
        TF_RETURN_IF_ERROR(record_task(bench, task, static_cast<size_t>(visit), recorder, left));
    }
  }
  std::fprintf(stderr, "%lld visits%s\n", static_cast<long long>(recorder.measured()),
               recorder.is_over() ? "; record again to go on" : "; everything is recorded");
  return absl::OkStatus();
}

absl::Status write_json(const Arguments& arguments, const nlohmann::json& report) {
  return arguments.json.empty() ? absl::OkStatus() : write_file(arguments.json, json_text(report, 1) + "\n");
}

absl::Status make_plot_folder(const Arguments& arguments) {
  std::error_code failed;
  std::filesystem::create_directories(arguments.plots, failed);
  if (failed) return absl::PermissionDeniedError(absl::StrCat(arguments.plots, ": ", failed.message()));
  return absl::OkStatus();
}

absl::Status replay(const Bench& bench) {
  TF_RETURN_IF_ERROR(require_pools(bench));
  const Arguments& arguments = bench.arguments;
  const int cpus =
      arguments.cpus > 0 ? arguments.cpus : static_cast<int>(std::thread::hardware_concurrency());
  std::vector<Replayed> replays;
  for (const BenchTask& task : bench.tasks) {
    TF_ASSIGN_OR_RETURN(const Pool pool, stored_pool(bench, task));
    TF_ASSIGN_OR_RETURN(RunSet runs, make_runs(bench, task));
    const size_t lacking = runs.advance(pool, cpus).size();
    if (lacking > 0)
      std::fprintf(stderr,
                   "%s: the pool knows %.0f%% of the trials: `search_replay record` measures the others\n",
                   task.task.label.c_str(), 100 * runs.coverage());
    replays.push_back(
        {&task, lacking > 0 ? std::min(runs.coverage(), 0.999) : 1, pool.best_seconds(), runs.curves()});
  }
  print_replays(replays, kBaseline, peak_gflops(bench));
  if (!arguments.plots.empty()) {
    TF_RETURN_IF_ERROR(make_plot_folder(arguments));
    TF_RETURN_IF_ERROR(write_replay_data(arguments.plots, replays));
  }
  return write_json(arguments, replays_json(replays, kBaseline, peak_gflops(bench)));
}

absl::StatusOr<std::vector<TaskExamples>> stored_examples(const Bench& bench) {
  TF_RETURN_IF_ERROR(require_pools(bench));
  std::vector<TaskExamples> tasks;
  for (const BenchTask& task : bench.tasks) {
    TF_ASSIGN_OR_RETURN(const Pool pool, stored_pool(bench, task));
    TF_ASSIGN_OR_RETURN(TaskExamples examples, task_examples(task, bench.target, bench.arguments.threads,
                                                             pool, bench.arguments.candidates));
    if (examples.stale + examples.unsure > 0)
      std::fprintf(stderr, "%s: %lld codes of an older space and %lld visited too seldom are left out\n",
                   task.task.label.c_str(), static_cast<long long>(examples.stale),
                   static_cast<long long>(examples.unsure));
    tasks.push_back(std::move(examples));
  }
  return tasks;
}

absl::Status quality(const Bench& bench) {
  const Arguments& arguments = bench.arguments;
  TF_ASSIGN_OR_RETURN(const std::vector<TaskExamples> tasks, stored_examples(bench));
  TF_ASSIGN_OR_RETURN(const std::vector<ModelQuality> qualities, judge_models(tasks));
  print_quality(qualities);
  if (!arguments.plots.empty()) {
    TF_RETURN_IF_ERROR(make_plot_folder(arguments));
    TF_RETURN_IF_ERROR(write_quality_data(arguments.plots, qualities));
  }
  return write_json(arguments, quality_json(qualities));
}

absl::Status fit(const Bench& bench) {
  constexpr int kMostOfATask = 150, kRounds = 6;
  TF_ASSIGN_OR_RETURN(const std::vector<TaskExamples> tasks, stored_examples(bench));
  TF_ASSIGN_OR_RETURN(const Refits refits,
                      refit(tasks, bench.target, bench.arguments.threads, kMostOfATask, kRounds));
  print_constants(refits.fits);
  print_quality(refits.qualities);
  return write_json(bench.arguments, quality_json(refits.qualities));
}

absl::Status explain(const Bench& bench) {
  TF_RETURN_IF_ERROR(require_pools(bench));
  for (const BenchTask& task : bench.tasks) {
    TF_ASSIGN_OR_RETURN(const Pool pool, stored_pool(bench, task));
    TF_RETURN_IF_ERROR(print_explained(task, bench.target, bench.arguments.threads, pool, /*rows=*/40));
  }
  return absl::OkStatus();
}

absl::Status races(const Bench& bench) {
  TF_RETURN_IF_ERROR(require_pools(bench));
  std::vector<RacesOfTask> all;
  for (const BenchTask& task : bench.tasks) {
    TF_ASSIGN_OR_RETURN(const Pool pool, stored_pool(bench, task));
    all.push_back({task.task.label, run_races(pool, {}), run_races(pool, {.across_visits = true})});
  }
  print_races(all);
  return write_json(bench.arguments, races_json(all));
}

absl::Status list_tasks(const Bench& bench) {
  for (const BenchTask& task : bench.tasks)
    std::printf("%-28s %-22s %s\n", task.task.label.c_str(), task.family.c_str(), task.network.c_str());
  return absl::OkStatus();
}

void add_options(CLI::App& command, Arguments& arguments) {
  command.add_option("--pools", arguments.pools, "Folder of the pools, a database a task")
      ->capture_default_str();
  command.add_option("--tasks", arguments.tasks, "Regular expression that finds names of tasks");
  command
      .add_option(
          "--strategies", arguments.strategies,
          "What is compared: strategies of `tuner tune`, each also as NAME-fixed or NAME-racing; NAME@others "
          "starts from the pools of other networks")
      ->capture_default_str();
  command.add_option("--seeds", arguments.seeds, "Runs of each strategy")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--trials", arguments.trials, "Of each run")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      .add_option("--candidates", arguments.candidates,
                  "Of a pool that judges models: half random, half from late search")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command
      .add_option("--visits", arguments.visits,
                  "That each candidate near the best is recorded in, by processes of their own")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--threads", arguments.threads, "Of every kernel")->check(CLI::Range(1, 1024));
  command.add_option("--cpus", arguments.cpus, "That replay at once; results are the same [all]");
  command
      .add_option("--minutes", arguments.minutes,
                  "Record for at most so long; a later call goes on [no limit]")
      ->check(at_least(0));
  command.add_option("--json", arguments.json, "Write the report to FILE, too");
  command.add_option("--plots", arguments.plots, "Write the data of plots.gp into this folder, too");
}

}  // namespace
}  // namespace tf::replay

int main(int argc, char** argv) {
  using namespace tf::replay;  // NOLINT: of this program alone
  CLI::App app("Strategies and models against recorded measurements", "search_replay");
  Arguments arguments;
  const std::pair<CLI::App*, absl::Status (*)(const Bench&)> commands[] = {
      {app.add_subcommand("record", "Measure what the strategies propose and the pools lack"), record},
      {app.add_subcommand("replay", "Run the strategies against the pools; no device is needed"), replay},
      {app.add_subcommand("quality", "How well the models rank the pools' candidates"), quality},
      {app.add_subcommand("fit", "Fit the draft model's constants anew, also without each family in turn"),
       fit},
      {app.add_subcommand("explain", "What the draft model takes the time of recorded candidates for"),
       explain},
      {app.add_subcommand("races", "Whether racing finds the candidate that all samples would have found"),
       races},
      {app.add_subcommand("tasks", "Print the tasks"), list_tasks}};
  for (const auto& [command, act] : commands) add_options(*command, arguments);
  app.require_subcommand(1);
  app.footer("Example: search_replay record --tasks gemm --minutes 10 && search_replay replay --tasks gemm");
  if (const std::optional<int> code = tf::parse_command_line(app, argc, argv)) return *code;
  const absl::StatusOr<Bench> bench = make_bench(arguments);
  absl::Status status = bench.status();
  for (const auto& [command, act] : commands) {
    if (status.ok() && command->parsed()) status = act(*bench);
  }
  return tf::finish_output("search_replay",
                           status.ok() ? tf::kExitOk : tf::report_error("search_replay", status));
}
