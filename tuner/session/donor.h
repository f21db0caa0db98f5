#pragma once
// Owns: good candidates of one task as proposals for tasks like it. Pure. Does not know: where they come
// from, whether they are measured.

#include <cstddef>
#include <span>
#include <vector>

#include "tuner/session/task_space.h"

namespace tf::session {

// A candidate that did well.
struct Donor {
  space::Sketch sketch;
  space::Point point;
  double remoteness = 0;  // beside the distance of the problems, in the unit of space::distance
};

// At most `most` legal candidates of a task that decide as donors do (space::carry_over), those of the
// nearest problems first, each once. Donors whose sketches are not like the task's, or too far away, give
// none.
std::vector<space::Candidate> carried_over(std::span<const Donor> donors, const TaskSpace& task, size_t most);

}  // namespace tf::session
