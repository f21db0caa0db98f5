#pragma once
// Owns: who a tuner is to a tracker, over its restarts: a name of its own for each database, and which run of
// it this is. Does not know: leases.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tf::service {

struct Installation {
  std::string id;           // random, the same for the same database
  uint64_t run_number = 0;  // from 1, one more each time
};

// Begins a run: kept beside the database, in FILE.installation. To be called by who holds the database.
// DATA_LOSS: the file says something else. write_file's errors.
absl::StatusOr<Installation> begin_run(const std::string& database_path);

}  // namespace tf::service
