// Strategies against each other on recorded measurements, and models against what was measured. README.md
// says what the figures mean.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/command_line.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/status.h"
#include "tests/bench/search/record_command.h"
#include "tests/bench/search/replay/explain.h"
#include "tests/bench/search/replay/report.h"
#include "tests/bench/search/replay/upgrade.h"
#include "tests/bench/search/replay_bench.h"

namespace tf::replay {
namespace {

constexpr char kBaseline[] = "ansor";

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
  std::vector<std::string> unrecorded;
  bool is_partial = false;
  for (const BenchTask& task : bench.tasks) {
    TF_ASSIGN_OR_RETURN(const Pool pool, stored_pool(bench, task));
    if (pool.best_seconds() == 0) {
      unrecorded.push_back(task.task.label);
      continue;
    }
    TF_ASSIGN_OR_RETURN(RunSet runs, make_runs(bench, task));
    const size_t lacking = runs.advance(pool, cpus).size();
    is_partial |= lacking > 0;
    if (lacking > 0)
      std::fprintf(stderr,
                   "%s: the pool knows %.0f%% of the trials: `search_replay record` measures the others\n",
                   task.task.label.c_str(), 100 * runs.coverage());
    replays.push_back(
        {&task, lacking > 0 ? std::min(runs.coverage(), 0.999) : 1, pool.best_seconds(), runs.curves()});
  }
  if (is_partial)
    std::fprintf(stderr,
                 "where not all trials are known, give the --trials, --seeds and --strategies of the "
                 "recording\n");
  if (replays.empty()) return nothing_recorded(bench);
  if (!unrecorded.empty())
    std::fprintf(stderr, "nothing is recorded of %s: left out\n", absl::StrJoin(unrecorded, ", ").c_str());
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
    TF_ASSIGN_OR_RETURN(TaskExamples examples,
                        task_examples(task, bench.target, bench.arguments.threads, pool,
                                      bench.arguments.candidates, bench.measured()));
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
  TF_ASSIGN_OR_RETURN(const Refits refits, refit(tasks, bench.target, bench.arguments.threads,
                                                 bench.measured(), kMostOfATask, kRounds));
  print_constants(refits.fits);
  print_fitted_on(bench.measured(), bench.target);
  print_quality(refits.qualities);
  return write_json(bench.arguments, quality_json(refits.qualities));
}

absl::Status explain(const Bench& bench) {
  TF_RETURN_IF_ERROR(require_pools(bench));
  print_rates(bench.measured());
  for (const BenchTask& task : bench.tasks) {
    TF_ASSIGN_OR_RETURN(const Pool pool, stored_pool(bench, task));
    TF_RETURN_IF_ERROR(print_explained(task, bench.target, bench.arguments.threads, bench.measured(), pool,
                                       /*rows=*/40));
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

// The act of a command, of which only `record` may write to databases, on what can be read by then.
absl::Status perform(Bench bench, absl::Status (*act)(const Bench&)) {
  if (act == record) TF_RETURN_IF_ERROR(upgrade(bench.database_paths()));
  if (act == list_tasks) return act(bench);
  TF_ASSIGN_OR_RETURN(bench.runs.measured, recorded_rates(bench));
  return act(bench);
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
    if (status.ok() && command->parsed()) status = perform(*bench, act);
  }
  return tf::finish_output("search_replay",
                           status.ok() ? tf::kExitOk : tf::report_error("search_replay", status));
}
