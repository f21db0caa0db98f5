#pragma once
// Owns: the full examination of a database file, which takes as long as reading all of it. Does not know:
// what the records say about kernels.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace tf::database {

struct FileContents {
  int64_t workloads = 0;
  int64_t problems = 0;  // with a measurement
  int64_t measurements = 0;
  int64_t jobs = 0;
  // Measurements that are dated in the future (is_in_future), and the latest date.
  int64_t local_in_future = 0;
  int64_t imported_in_future = 0;
  int64_t latest_unix_ns = 0;
  std::vector<int64_t> rows_in_future;  // the first few of them, by id
};

// Checks the structure of the file (SQLite's integrity check, references between tables) and every row, so
// that no command that opens the file finds damage later. A tuner may write the file meanwhile. Errors are
// those of open_sqlite_records; DATA_LOSS names the first damage.
absl::StatusOr<FileContents> examine_sqlite_file(const std::string& path, absl::Time now);

}  // namespace tf::database
