#pragma once
// Owns: a copy of a database file that a tuner may be writing at the same time. Does not know: what stands
// beside the file.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "database/record.h"

namespace tf::database {

// Makes `to` a copy of the database file `from` as of one moment: it holds every row that was acknowledged
// before the call, and no half of a transaction. Writers go on meanwhile. Returns the copy's jobs.
// ALREADY_EXISTS if there is a file `to`, or a log of one; other errors are those of open_sqlite_records, and
// what SQLite says of `to`, which is then not made.
absl::StatusOr<std::vector<Job>> copy_sqlite_file(const std::string& from, const std::string& to);

}  // namespace tf::database
