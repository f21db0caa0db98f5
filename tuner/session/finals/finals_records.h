#pragma once
// Owns: the final re-measurements at a run's end as the database sees them: its best take part, what they
// show becomes rows. Does not know: how a final re-measurement is decided (finals.h) or run (finals_run.h).

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "database/store.h"
#include "tuner/measure/runner.h"
#include "tuner/session/finals/finals_run.h"
#include "tuner/session/loop/pipeline.h"
#include "tuner/session/loop/task_state.h"
#include "tuner/session/session.h"

namespace tf::session {

// A session's tasks, numbered as in its pipeline, how many trials of each this run made, and how often the
// network runs it, or may (runs_of in expected_improvement.h).
struct TriedTasks {
  std::span<const std::unique_ptr<TaskState>> tasks;
  std::span<const int64_t> trials;
  std::span<const double> runs;
};

// What came of a run's final re-measurements.
struct FinalsOutcome {
  int64_t attempts = 0;    // trials that were made again
  bool undecided = false;  // some task rests on a single trial: a final re-measurement was due, but not made
};

// Lets the best few of each task that was tried meet, among them the untuned schedule if it comes near, until
// whoever looks as fast as the winner has taken part, or the deadline. Each one's samples, and how it stands
// beside the winner, become one more measurement of its schedule, and so does a failure; they are no trials:
// nothing new was tried. The tasks that take most of the network's time go first, and no round begins after
// the deadline. A trial that is made again because its device throttled is an attempt; one that counts all
// the same marks its schedule's row. Nothing else may be in the pipeline but what was withdrawn. Errors: the
// store's.
absl::StatusOr<FinalsOutcome> decide_best(const TriedTasks& tried, const SessionOptions& options,
                                          Pipeline& pipeline, measure::Runner& runner, database::Store& store,
                                          const FinalsLimits& limits);

}  // namespace tf::session
