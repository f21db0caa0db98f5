#pragma once
// Owns: a database file opened for writing: locked, checked and of the current schema. Does not know: what is written.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "database/sqlite/file_lock.h"
#include "database/sqlite/sqlite_connection.h"

namespace tf::database {

// The connection closes first.
struct WritableFile {
  std::unique_ptr<FileLock> lock;
  std::unique_ptr<Connection> connection;
};

// As open_sqlite_store, which uses it (sqlite_store.h).
absl::StatusOr<WritableFile> open_writable_file(const std::string& path, const std::string& locked_remedy);

}  // namespace tf::database
