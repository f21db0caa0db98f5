#pragma once
// Owns: the database as an SQLite file in WAL mode. One process writes it, and holds FILE.lock while it does;
// any number read it meanwhile through connections that cannot write or checkpoint. Does not know: who asks;
// gRPC; what schedules mean.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "database/store.h"
#include "database/store_scheme.h"

namespace tf::database {

struct SqliteOptions {
  // An asynchronous insert waits at most this long for others to share its commit.
  absl::Duration commit_window = absl::Milliseconds(5);
  // The log is written back to the file when it has this size, and this long after a commit: a copy of the
  // file alone lacks what was committed since.
  int64_t log_bytes = 64 << 20;
  absl::Duration checkpoint_interval = absl::Minutes(1);
  WriteOptions write = {};  // where a lock is waited for, it is SQLite's, not FILE.lock
};

extern const StoreScheme kSqlite;

// Opens the file for writing, making or migrating it as needed. One clear line for each refusal, and the file
// is left as it was: FAILED_PRECONDITION locked (with the holder's pid), not a database, of another program,
// of a newer schema, on a network file system; DATA_LOSS damaged; PERMISSION_DENIED not writable; NOT_FOUND
// no such folder.
absl::StatusOr<std::unique_ptr<Store>> open_sqlite_store(const std::string& path,
                                                         const SqliteOptions& options = {});

// Whether there is nothing at the path, nor where it links to; not if that cannot be told.
bool is_missing(const std::string& path);

// Whether open_sqlite_store could make the file, which is missing; makes nothing. NOT_FOUND no such folder,
// PERMISSION_DENIED it cannot be written, FAILED_PRECONDITION it is on a network file system.
absl::Status check_makeable(const std::string& path);

// Opens the file for reading; it must exist and have the current schema. Errors as above, NOT_FOUND if there
// is none.
absl::StatusOr<std::unique_ptr<Records>> open_sqlite_records(const std::string& path);

}  // namespace tf::database
