#pragma once
// Owns: judging the project's own models on pools: the roofline model, and the learned model when a task, its
// family of operators, or its network was held out of training. Does not know: how pools are filled.

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"
#include "tests/bench/search/replay/noise.h"
#include "tests/bench/search/replay/pool.h"
#include "tests/bench/search/replay/quality.h"
#include "tests/bench/search/replay/task_table.h"
#include "tuner/model/learned/features.h"

namespace tf::replay {

// A code of a pool as the models see it: the first recorded candidate that compiles to it.
struct Example {
  model::Features features;
  double roofline_seconds = 0;
  double seconds = 0;  // the shortest sample of the label's replicates; 0: it failed
  bool late = false;   // from late search
  std::string schedule;
};
struct TaskExamples {
  const BenchTask* task = nullptr;
  std::vector<Example> examples;
  size_t replicates = 1;              // of a label: as many for all near the best
  std::vector<double> disagreements;  // of labels of the same code (noise.h)
  int64_t stale = 0;                  // of a space that has changed since: left out
  int64_t unsure = 0;                 // near the best and run less often: left out
};

// At most `count` codes, half of them drawn at random, half from late search; the first recorded of each.
// `measured` is of the machine that the pool is of. Errors: the binding's.
absl::StatusOr<TaskExamples> task_examples(const BenchTask& task, const target::Target& target, int threads,
                                           const Pool& pool, int64_t count,
                                           const model::MeasuredRates& measured = {});

struct ModelQuality {
  std::string model;  // "roofline", "own half", "other families", "other networks"
  std::string task;
  size_t replicates = 1;       // of a label
  std::vector<Ranked> ranked;  // what was judged
  std::vector<Ranked> truth;   // the same, ranked by who knows every time; empty if replicates do not tell
};

// Of a task that a model is judged on.
inline constexpr size_t kLeastExamples = 100;

// Every model on every task of at least so many examples. "own half" learns from the task's codes at even
// places and is judged on the others; "other families" from all tasks of other families, "other networks"
// from all tasks of no or other networks (tasks of no network are not judged). Errors: the booster's.
absl::StatusOr<std::vector<ModelQuality>> judge_models(std::span<const TaskExamples> tasks);

}  // namespace tf::replay
