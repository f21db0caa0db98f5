// Strategies against each other on recorded measurements, and models against what was measured. README.md
// says what the figures mean.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cli/command_line.h"
#include "base/cli/exit_code.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/text/json_text.h"
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

// Whether a report can be written there. What is no plain file is written to as it is.
absl::Status check_json(const std::string& path) {
  std::error_code failed;
  const std::filesystem::file_status there = std::filesystem::status(path, failed);
  if (std::filesystem::is_directory(there))
    return absl::FailedPreconditionError(absl::StrCat("--json ", path, " is a folder, not a file"));
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) return absl::OkStatus();
  std::string folder = std::filesystem::path(linked_file(path)).parent_path().string();
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, failed))
    return absl::NotFoundError(absl::StrCat("--json ", path, ": there is no folder ", folder));
  if (::access(folder.c_str(), W_OK) != 0)
    return absl::PermissionDeniedError(absl::StrCat("--json ", path, ": ", folder, " cannot be written to"));
  return absl::OkStatus();
}

// Before the work, which would be lost else. Of the plots' folder only the last part is made.
absl::Status prepare_outputs(const Arguments& arguments) {
  if (!arguments.json.empty()) TF_RETURN_IF_ERROR(check_json(arguments.json));
  if (arguments.plots.empty()) return absl::OkStatus();
  std::error_code failed;
  std::filesystem::create_directory(arguments.plots, failed);
  if (failed) return absl::NotFoundError(absl::StrCat("--plots ", arguments.plots, ": ", failed.message()));
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
  print_replays(replays, kBaseline, bench.machine.peak_gflops);
  if (!arguments.plots.empty()) TF_RETURN_IF_ERROR(write_replay_data(arguments.plots, replays));
  return write_json(arguments, replays_json(replays, kBaseline, bench.machine.peak_gflops));
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
      std::fprintf(stderr, "%s: %lld codes of an older space and %lld run too seldom are left out\n",
                   task.task.label.c_str(), static_cast<long long>(examples.stale),
                   static_cast<long long>(examples.unsure));
    tasks.push_back(std::move(examples));
  }
  return tasks;
}

// Of tasks that no model is judged on.
void say_too_few(const std::vector<TaskExamples>& tasks) {
  std::vector<std::string> few;
  for (const TaskExamples& task : tasks)
    if (task.examples.size() < kLeastExamples)
      few.push_back(absl::StrCat(task.task->task.label, " (", task.examples.size(), ")"));
  if (few.empty()) return;
  std::fprintf(stderr, "models are judged on tasks of at least %zu recorded codes; of fewer are %s\n",
               kLeastExamples, absl::StrJoin(few, ", ").c_str());
}

absl::Status quality(const Bench& bench) {
  const Arguments& arguments = bench.arguments;
  TF_ASSIGN_OR_RETURN(const std::vector<TaskExamples> tasks, stored_examples(bench));
  TF_ASSIGN_OR_RETURN(const std::vector<ModelQuality> qualities, judge_models(tasks));
  if (!qualities.empty()) print_quality(qualities);
  say_too_few(tasks);
  if (!arguments.plots.empty()) TF_RETURN_IF_ERROR(write_quality_data(arguments.plots, qualities));
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
    all.push_back({task.task.label, run_races(pool, {}), run_races(pool, {.across_replicates = true})});
  }
  if (std::ranges::all_of(all, [](const RacesOfTask& task) { return task.in_replicate.empty(); }))
    std::fprintf(
        stderr,
        "no task has two recorded candidates that could race: `search_replay record` measures them\n");
  print_races(all);
  return write_json(bench.arguments, races_json(all));
}

absl::Status list_tasks(const Bench& bench) {
  for (const BenchTask& task : bench.tasks)
    std::printf("%-28s %-22s %s\n", task.task.label.c_str(), task.family.c_str(), task.network.c_str());
  return absl::OkStatus();
}

// The act of a command, of which only `record` may write to databases, on what can be read by then.
absl::Status perform(const CLI::App& app, Bench bench, absl::Status (*act)(const Bench&)) {
  TF_RETURN_IF_ERROR(prepare_outputs(bench.arguments));
  if (act == list_tasks) return act(bench);
  if (act == record) TF_RETURN_IF_ERROR(upgrade(bench.database_paths()));
  absl::StatusOr<NotedMachine> machine = noted_machine(bench);
  if (machine.ok())
    bench.machine = *std::move(machine);
  else
    report_error(command_name(app).c_str(), machine.status());  // figures go without
  TF_ASSIGN_OR_RETURN(bench.runs.measured, recorded_rates(bench));
  return act(bench);
}

struct Command {
  const char *name, *purpose, *example;
  absl::Status (*act)(const Bench&);
  std::vector<std::string_view> options;
};
std::vector<Command> all_commands() {
  return {{"record",
           "Measure what the strategies propose and the pools lack",
           "--tasks gemm --minutes 10",
           record,
           {"--pools", "--tasks", "--strategies", "--seeds", "--trials", "--candidates", "--visits",
            "--threads", "--minutes", "--without-sandbox"}},
          {"replay",
           "Run the strategies against the pools; no device is needed",
           "--tasks gemm --strategies evolutionary,ansor",
           replay,
           {"--pools", "--tasks", "--strategies", "--seeds", "--trials", "--threads", "--cpus", "--json",
            "--plots"}},
          {"quality",
           "How well the models rank the pools' candidates",
           "--json quality.json",
           quality,
           {"--pools", "--tasks", "--candidates", "--threads", "--json", "--plots"}},
          {"fit",
           "Fit the roofline model's constants anew, also without each family in turn",
           "--json fit.json",
           fit,
           {"--pools", "--tasks", "--candidates", "--threads", "--json"}},
          {"explain",
           "What the roofline model takes the time of recorded candidates for",
           "--tasks gemm_512",
           explain,
           {"--pools", "--tasks", "--threads"}},
          {"races",
           "Whether racing finds the candidate that all samples would have found",
           "--tasks gemm",
           races,
           {"--pools", "--tasks", "--threads", "--json"}},
          {"tasks",
           "Print the tasks: name, family of operators, network",
           "--tasks resnet50",
           list_tasks,
           {"--tasks"}}};
}

void add_command(CLI::App& app, const Command& description, Arguments& arguments) {
  CLI::App& command = *app.add_subcommand(description.name, description.purpose);
  command.footer(absl::StrCat("Example: search_replay ", description.name, " ", description.example));
  const auto has = [&](std::string_view option) {
    return std::ranges::find(description.options, option) != description.options.end();
  };
  if (has("--pools"))
    command.add_option("--pools", arguments.pools, "Folder of the pools, a database a task")
        ->capture_default_str();
  if (has("--tasks"))
    command.add_option("--tasks", arguments.tasks, "Regular expression that finds names of tasks [all]");
  if (has("--strategies"))
    command
        .add_option("--strategies", arguments.strategies,
                    "What is compared: strategies of `tuner tune`, each also as NAME-fixed or NAME-racing; "
                    "NAME@others starts from the pools of other networks")
        ->capture_default_str();
  if (has("--seeds"))
    command.add_option("--seeds", arguments.seeds, "Runs of each strategy")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
  if (has("--trials"))
    command.add_option("--trials", arguments.trials, "Of each run")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
  if (has("--candidates"))
    command
        .add_option("--candidates", arguments.candidates,
                    "Of a pool that judges models: half random, half from late search; 0: only what "
                    "strategies propose")
        ->check(CLI::Range(0, 1000000))
        ->capture_default_str();
  if (has("--visits"))
    command
        .add_option("--visits", arguments.replicates,
                    "That each candidate near the best is recorded in, by processes of their own")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
  if (has("--threads"))
    command.add_option("--threads", arguments.threads, "Of every kernel")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
  if (has("--cpus"))
    command.add_option("--cpus", arguments.cpus, "That replay at once; results are the same [all]");
  if (has("--minutes"))
    command
        .add_option("--minutes", arguments.minutes,
                    "Record for at most so long; a later call goes on [until everything is recorded]")
        ->check(above_zero);
  if (has("--without-sandbox"))
    command.add_option("--without-sandbox", arguments.without_sandbox,
                       "Measure although candidates cannot be confined by these, as in `tuner tune` [the "
                       "whole sandbox is required]");
  if (has("--json"))
    command.add_option("--json", arguments.json, "Write the report to FILE, too")->type_name("FILE");
  if (has("--plots"))
    command.add_option("--plots", arguments.plots, "Write the data of plots.gp into this FOLDER, too")
        ->type_name("FOLDER");
}

}  // namespace
}  // namespace tf::replay

int main(int argc, char** argv) {
  using namespace tf::replay;  // NOLINT: of this program alone
  CLI::App app("Strategies and models against recorded measurements", "search_replay");
  Arguments arguments;
  const std::vector<Command> commands = all_commands();
  for (const Command& command : commands) add_command(app, command, arguments);
  app.require_subcommand(1);
  app.footer("Example: search_replay record --tasks gemm --minutes 10 && search_replay replay --tasks gemm");
  if (const std::optional<int> code = tf::parse_command_line(app, argc, argv)) return *code;
  const std::string name = tf::command_name(app);
  const absl::StatusOr<Bench> bench = make_bench(arguments);
  absl::Status status = bench.status();
  for (const Command& command : commands) {
    if (status.ok() && app.got_subcommand(command.name)) status = perform(app, *bench, command.act);
  }
  return tf::finish_output(name.c_str(), status.ok() ? tf::kExitOk : tf::report_error(name.c_str(), status));
}
