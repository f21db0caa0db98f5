#pragma once
// Owns: which of a task's records a run of a job takes over, and as what. Does not know: what is done with
// them.

#include <cstdint>
#include <vector>

#include "database/record.h"

namespace tf::session {

// Each in the order in which schedules were tried first.
struct TakenOver {
  // What was known when the job began: of each schedule the record that counts (database::which_count). Of
  // those called untuned, only the last one that has a time is.
  std::vector<database::Measurement> before;
  // The job's trials. What its final re-measurements measured again is none.
  std::vector<database::Measurement> own;
  // The first record of each schedule that other jobs measured since and this one did not: what came later
  // would tell the next run of the job something else than this one.
  std::vector<database::Measurement> since;
};

// Of records of one task and kind of device, by number. What a run before knew, the next one takes over as
// the same, whatever came in between. `first_record` is the job's first one's number (EarlierResults).
TakenOver take_over(const std::vector<database::Measurement>& records, int64_t job_id, int64_t first_record);

}  // namespace tf::session
