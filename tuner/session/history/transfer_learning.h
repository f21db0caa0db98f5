#pragma once
// Owns: how tasks learn from each other's good candidates. Pure. Does not know: databases, whether what is proposed is
// measured.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tuner/session/loop/task_space.h"

namespace tf::session {

class TaskState;

// A candidate that did well.
struct TransferSource {
  space::Sketch sketch;
  space::Point point;
  double remoteness = 0;  // beside the distance of the problems, in the unit of space::distance
};

// At most `most` legal candidates of a task that decide as sources do (space::carry_over), those of the
// nearest problems first, each once. Sources whose sketches are not like the task's, or too far away, give
// none.
std::vector<space::Candidate> carried_over(std::span<const TransferSource> sources, const TaskSpace& task,
                                           size_t most);

// Suggests to each task the new best of tasks like it, the nearest ones: those that have become best since
// the last call. They join what waits to be tried and are ranked with it.
void share_best(std::span<const std::unique_ptr<TaskState>> tasks);

}  // namespace tf::session
