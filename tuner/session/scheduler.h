#pragma once
// Owns: which task gets the next trials: round-robin, weighted by each task's share of the network's time.
// Does not know: threads, clocks, what a trial is.

#include <cstdint>
#include <vector>

namespace tf::session {

struct TaskShare {
  double weight = 1;   // occurrences in the network
  double seconds = 0;  // best known time of one run, or an estimate
  int64_t given = 0;   // trials given so far
  bool exhausted = false;
};

// The task that is owed the most: every task first gets a few trials, then trials follow weight * seconds, so
// that a task that has become fast is served less. Ties go to the lower index. -1 when all are exhausted.
int next_task(const std::vector<TaskShare>& tasks);

}  // namespace tf::session
