#pragma once
// Owns: a job as reports look at it: its kernels, and whose records count for it. Does not know: what is
// reported.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "database/store.h"
#include "proto/tune/v1/tune.pb.h"
#include "tuner/report/columns.h"
#include "tuner/report/kernels.h"

namespace tf::report {

// A kernel that a report is about.
struct Subject {
  std::string id;
  tensor::KernelKey key;
  std::string label;  // of a job's task; empty: what the database calls it
  double weight = 0;  // occurrences in the job's network
};

struct JobScope {
  database::Job job;
  tunefarm::tune::v1::JobSpec spec;  // empty where it cannot be read
  Asked asked;                       // records of its device class and numerics
  std::vector<Subject>
      kernels;  // in order of its tasks; of a job of before these were kept, of its measurements
};

// NOT_FOUND: no such job. Other errors: the records'.
absl::StatusOr<JobScope> job_scope(database::Records& records, const Columns& columns, int64_t job_id);

// Whether a setting counts, by its number: of the class and numerics that are asked for, if any are, and of that version of what
// schedules mean.
std::vector<bool> wanted_settings(const Columns& columns, const Asked& asked, uint32_t semantics_version);

}  // namespace tf::report
