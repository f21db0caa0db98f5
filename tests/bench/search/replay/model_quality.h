#pragma once
// Owns: judging the project's own models on pools: the draft model, and the learned model when a task, its
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
#include "tuner/model/features.h"

namespace tf::replay {

// A pool's candidates as the models see them.
struct Example {
  model::Features features;
  double draft_seconds = 0;
  double seconds = 0;  // the shortest sample of all visits of its code; 0: it failed
  Visits visits;       // of all recorded candidates of its code
};
struct TaskExamples {
  const BenchTask* task = nullptr;
  std::vector<Example> examples;
  int64_t stale = 0;  // of a space that has changed since: left out
};

// At most `count` candidates, half of them drawn at random, half from late search; the first recorded of
// each. Errors: the binding's.
absl::StatusOr<TaskExamples> task_examples(const BenchTask& task, const target::Target& target, int threads,
                                           const Pool& pool, int64_t count);

struct ModelQuality {
  std::string model;  // "other visits", "draft", "own half", "other families", "other networks"
  std::string task;
  int64_t examples = 0;  // judged
  std::vector<Ranked> ranked;
};

// Every model on every task of at least 100 examples. "other visits" is no model: what noise leaves of the
// order (noise.h). "own half" learns from the task's examples at even places and is judged on the others;
// "other families" from all tasks of other families, "other networks" from all tasks of no or other networks
// (tasks of no network are not judged). Errors: the booster's.
absl::StatusOr<std::vector<ModelQuality>> judge_models(std::span<const TaskExamples> tasks);

}  // namespace tf::replay
