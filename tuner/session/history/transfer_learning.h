#pragma once
// Owns: how the tasks of a running session learn from each other's best candidates. Pure. Does not know:
// when, databases.

#include <memory>
#include <span>

#include "tuner/session/loop/task_state.h"

namespace tf::session {

// Suggests to each task the new best of tasks like it, the nearest ones: those that have become best since
// the last call. They join what waits to be tried and are ranked with it.
void share_best(std::span<const std::unique_ptr<TaskState>> tasks);

}  // namespace tf::session
