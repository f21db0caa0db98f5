#pragma once
// Owns: good candidates of one task as proposals for tasks like it. Pure. Does not know: where they come
// from, whether they are measured.

#include <cstddef>
#include <span>
#include <vector>

#include "tuner/session/loop/task_space.h"

namespace tf::session {

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

}  // namespace tf::session
