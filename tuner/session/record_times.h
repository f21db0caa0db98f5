#pragma once
// Owns: what the times in a record say of its candidate.

#include <optional>
#include <vector>

#include "database/record.h"
#include "tuner/session/task_state.h"

namespace tf::session {

// Neither a time nor a bound came of it.
bool is_failure(database::Outcome outcome);

// Of each sample, the time of one run in nanoseconds.
std::vector<double> runs_ns(const database::Measurement& record);

// The time that a record tells, if any: of an early stop only that it takes at least so long.
std::optional<TaskState::Time> time_of(const database::Measurement& record);

}  // namespace tf::session
