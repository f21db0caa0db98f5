#pragma once
// Owns: what the times in a record say of its candidate.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "database/record.h"

namespace tf::session {

// What is known of a candidate's time.
struct Time {
  double seconds = 0;
  bool lower_bound = false;    // it was stopped early: only the cost model learns from it
  double noise = 0;            // of one sample, relative (base/statistics/race.h)
  double sampled_seconds = 0;  // what it took to find out
};

// Whether its time compares with those that are measured now on a machine with that fingerprint: a session of
// this database measured it on such a machine, or the given job did on any (0: no job). An import never
// compares, whatever it says. A failure that names no machine, as of the compiler, counts on all.
bool is_from_here(const database::Measurement& record, std::string_view fingerprint, int64_t job_id = 0);

// How long the device was timing it, whatever came of that.
double seconds_in_samples(const database::Measurement& record);

// The time that samples tell, at least one: of an early stop only what they refute as the median, as far as
// they tell how noisy they are (lower_bound_ns in base/statistics/race.h). Leaves out what it took to find
// out.
Time time_of(const std::vector<double>& runs_ns, bool is_stopped_early);
// That which a record tells, if any.
std::optional<Time> time_of(const database::Measurement& record);

}  // namespace tf::session
