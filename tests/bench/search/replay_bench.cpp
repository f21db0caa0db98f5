#include "tests/bench/search/replay_bench.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/status.h"
#include "database/sqlite/sqlite_store.h"
#include "tests/bench/search/replay/recorder.h"
#include "tuner/session/calibrate/calibration.h"

namespace tf::replay {

std::vector<std::string> Bench::database_paths() const {
  std::vector<std::string> paths = {calibration_path()};
  for (const BenchTask& task : bench_tasks(target)) paths.push_back(pool_path(task));
  return paths;
}

absl::StatusOr<NotedMachine> noted_machine(const Bench& bench) {
  if (!std::filesystem::exists(bench.machine_path())) return NotedMachine();
  TF_ASSIGN_OR_RETURN(const std::string text, read_file(bench.machine_path()));
  const nlohmann::json noted = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool is_readable = noted.is_object() &&
                           (!noted.contains("fingerprint") || noted.at("fingerprint").is_string()) &&
                           (!noted.contains("peak_gflops") || noted.at("peak_gflops").is_number());
  if (!is_readable)
    return absl::DataLossError(absl::StrCat(
        bench.machine_path(), " is not what `search_replay record` writes: nothing of it is used"));
  return NotedMachine{noted.value("fingerprint", std::string()), noted.value("peak_gflops", 0.0)};
}

absl::StatusOr<model::MeasuredRates> recorded_rates(const Bench& bench) {
  if (!std::filesystem::exists(bench.calibration_path())) return model::MeasuredRates();
  TF_ASSIGN_OR_RETURN(const auto records, database::open_sqlite_records(bench.calibration_path()));
  TF_ASSIGN_OR_RETURN(const auto calibration, session::CalibrationRecords::read(*records));
  return calibration.rates_of({bench.target, kDeviceClass, bench.machine.fingerprint});
}

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

absl::Status nothing_recorded(const Bench& bench) {
  return absl::NotFoundError(absl::StrCat("nothing is recorded of these tasks in ", bench.arguments.pools,
                                          ": record some with `search_replay record`"));
}

absl::Status require_pools(const Bench& bench) {
  const std::string& pools = bench.arguments.pools;
  if (std::filesystem::exists(pools) && !std::filesystem::is_directory(pools))
    return absl::FailedPreconditionError(
        absl::StrCat("--pools ", pools, " is no folder: give one that `search_replay record` filled"));
  for (const BenchTask& task : bench.tasks)
    if (std::filesystem::exists(bench.pool_path(task))) return absl::OkStatus();
  return nothing_recorded(bench);
}

absl::StatusOr<Pool> stored_pool(const Bench& bench, const BenchTask& task) {
  if (!std::filesystem::exists(bench.pool_path(task))) return Pool();
  TF_ASSIGN_OR_RETURN(const auto records, database::open_sqlite_records(bench.pool_path(task)));
  return read_pool(*records, bench.problem(task));
}

namespace {

// What the pools of all tasks of other networks than this one's teach; null if nobody remembers. Those of
// none count as one network.
absl::StatusOr<std::shared_ptr<const Memory>> memory_of(const Bench& bench, const BenchTask& task) {
  const std::vector<Contender>& contenders = bench.runs.contenders;
  if (std::none_of(contenders.begin(), contenders.end(),
                   [](const Contender& each) { return each.remembers; }))
    return nullptr;
  auto memory = std::make_shared<Memory>();
  for (const BenchTask& other : bench_tasks(bench.target)) {
    if (other.network == task.network || !std::filesystem::exists(bench.pool_path(other))) continue;
    TF_ASSIGN_OR_RETURN(const auto records, database::open_sqlite_records(bench.pool_path(other)));
    TF_ASSIGN_OR_RETURN(const auto lessons, lessons_of(*records, bench.problem(other)));
    TF_ASSIGN_OR_RETURN(
        const session::TaskSpace space,
        session::TaskSpace::create(other.task, bench.target, bench.arguments.threads, {}, bench.measured()));
    memory->history.add(space, lessons, 0);
  }
  memory->prior = session::prior_of(memory->history, {});
  return memory;
}

}  // namespace

absl::StatusOr<RunSet> make_runs(const Bench& bench, const BenchTask& task) {
  RunSetOptions options = bench.runs;
  TF_ASSIGN_OR_RETURN(options.memory, memory_of(bench, task));
  return RunSet::create(task.task, options);
}

}  // namespace tf::replay
