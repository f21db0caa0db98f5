#pragma once
// Owns: what a running session knows of its tasks as the scheduler takes it, and how long their final
// re-measurements will take. Does not know: clocks, which task is served.

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/session/allocate/scheduler.h"
#include "tuner/session/loop/task_state.h"
#include "tuner/session/task.h"

namespace tf::session {

// A task of the session.
struct OpenTask {
  const TaskState* state = nullptr;
  int64_t under_way = 0;   // candidates handed out whose results have not come
  bool exhausted = false;  // or given up: it is served no more
};

// In the same order. Pure: the same results give the same expected improvements.
std::vector<ExpectedImprovement> improvements_of(std::span<const OpenTask> tasks);

// How often each task's kernel runs in the network; once where other layouts would bring it about.
std::vector<double> runs_of(std::span<const ExpectedImprovement> improvements);

// Of a network that takes so long, which stakes matter: all but the least ones that are nothing to it even
// together. Both in the same unit.
std::vector<bool> that_matter(std::span<const double> stakes, double network);

// How often each task was tried since its last final re-measurement, 0 where another one does not matter:
// what the wrong one of those that are too close to call may cost, by how sure times are and how often it
// runs, is nothing to the network.
std::vector<int64_t> contested(std::span<const std::unique_ptr<TaskState>> tasks,
                               std::span<const ExpectedImprovement> improvements,
                               std::span<const int64_t> tried);

// An estimate of the final re-measurements of tasks that were tried, with the turns in which winners are
// challenged, at the session's rate.
double finals_seconds(std::span<const std::unique_ptr<TaskState>> tasks, std::span<const int64_t> tried,
                      double trials_per_second);

}  // namespace tf::session
