#pragma once
// Owns: what the commands of search_replay work on: tasks, contenders, and where the pools of a machine lie.
// Does not know: what the commands do.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "compiler/target/target.h"
#include "tests/bench/search/replay/pool.h"
#include "tests/bench/search/replay/run_set.h"
#include "tests/bench/search/replay/task_table.h"
#include "tuner/session/task.h"

namespace tf::replay {

struct Arguments {
  std::string pools = "build/search", tasks = ".*", strategies = "evolutionary,ansor,random", json, plots;
  std::string without_sandbox;
  int threads = 1;
  int seeds = 5;
  int trials = 256;
  int64_t candidates = 2000;
  int replicates = 8;
  double minutes = 0;  // 0: no limit
  int cpus = 0;
};

// What recording noted of the machine; nothing if it never recorded here.
struct NotedMachine {
  std::string fingerprint;
  double peak_gflops = 0;  // of one thread; 0: not known
};

struct Bench {
  Arguments arguments;
  target::Target target = target::host_target();
  std::vector<BenchTask> tasks;
  RunSetOptions runs;  // what was measured of the machine goes in there
  NotedMachine machine = {};

  std::string pool_path(const BenchTask& task) const {
    return absl::StrCat(arguments.pools, "/", task.task.label, ".db");
  }
  // Those of all tasks: runs that start from other pools read them, whatever --tasks says.
  std::vector<std::string> database_paths() const;
  std::string machine_path() const { return arguments.pools + "/machine.json"; }
  std::string calibration_path() const { return arguments.pools + "/calibration.db"; }
  const model::MeasuredRates& measured() const { return runs.measured; }
  tensor::KernelKey problem(const BenchTask& task) const {
    return tensor::key_for(task.task.kernel, target, arguments.threads);
  }
};

// INVALID_ARGUMENT for tasks or strategies that there are not. Nothing measured of the machine is in it yet.
absl::StatusOr<Bench> make_bench(const Arguments& arguments);

// DATA_LOSS: what lies there is not what recording writes.
absl::StatusOr<NotedMachine> noted_machine(const Bench& bench);

// What recording measured of the bench's machine; nothing, if it did so before it looked at that. Errors: the
// database's.
absl::StatusOr<model::MeasuredRates> recorded_rates(const Bench& bench);

// NOT_FOUND: none of the tasks has a pool, or one that says anything.
absl::Status nothing_recorded(const Bench& bench);
// That, if none of the tasks has a pool: what judges recorded measurements needs some.
absl::Status require_pools(const Bench& bench);
// Nothing recorded yet is an empty pool.
absl::StatusOr<Pool> stored_pool(const Bench& bench, const BenchTask& task);
// What the contenders do on a task.
absl::StatusOr<RunSet> make_runs(const Bench& bench, const BenchTask& task);

}  // namespace tf::replay
