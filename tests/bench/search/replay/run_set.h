#pragma once
// Owns: all runs of the contenders on one task: making them, taking them as far as the pool goes. Does not
// know: devices.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/search/replay/comparison.h"
#include "tests/bench/search/replay/pool.h"
#include "tests/bench/search/replay/run.h"
#include "tests/bench/search/replay/task_table.h"

namespace tf::replay {

struct RunSetOptions {
  target::Target target;
  int threads = 1;  // of each measured kernel
  std::vector<Contender> contenders;
  int seeds = 5;
  uint64_t first_seed = 1;
  int trials = 256;
  std::shared_ptr<const Memory> memory = nullptr;  // of the contenders that remember
  model::MeasuredRates measured = {};              // of the machine that the pool is of
};

// A candidate that a run proposes and the pool lacks.
struct Wanted {
  database::Measurement subject;
  Source source = Source::kRandom;
};

class RunSet {
 public:
  // `task` must outlive the set. Errors: the binding's.
  static absl::StatusOr<RunSet> create(const session::Task& task, const RunSetOptions& options);

  // Takes all runs as far as the pool goes, on so many threads (the result does not depend on how many).
  // Returns what they lack, each schedule once; nothing when all are finished.
  std::vector<Wanted> advance(const Pool& pool, int threads);

  // Of all trials of all runs, how many are answered; 1 when all are finished.
  double coverage() const;
  int64_t trials_left() const;
  // By contender; of each run what it has so far.
  std::map<std::string, Runs> curves() const;

 private:
  std::vector<std::unique_ptr<Run>> runs_;
};

}  // namespace tf::replay
