#include "database/sqlite/backup.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/remedy.h"
#include "base/status.h"
#include "database/sqlite/file_lock.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/sqlite/sqlite_rows.h"
#include "database/sqlite/sqlite_store.h"

namespace tf::database {
namespace {

// A log that is left of another file would be read as this one's.
absl::Status check_new(const std::string& to) {
  for (const std::string& path : {to, companion_of(to, "-wal"), companion_of(to, "-journal")}) {
    if (is_missing(path)) continue;
    return with_remedy(absl::StatusCode::kAlreadyExists, absl::StrCat("the file ", path, " already exists"),
                       "give a new path", Between::kSemicolon);
  }
  return check_makeable(to);
}

absl::Status rename_durably(const std::string& part, const std::string& to) {
  const int folder = ::open(folder_of(to).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = folder >= 0 && ::rename(part.c_str(), to.c_str()) == 0 && ::fsync(folder) == 0;
  const int reason = errno;
  if (folder >= 0) ::close(folder);
  return done ? absl::OkStatus() : absl::ErrnoToStatus(reason, absl::StrCat("cannot make ", to));
}

}  // namespace

absl::StatusOr<std::vector<Job>> copy_sqlite_file(const std::string& from, const std::string& to) {
  if (to.empty()) return absl::InvalidArgumentError("the path of the copy is empty: give -o FILE");
  TF_RETURN_IF_ERROR(open_sqlite_records(from).status());
  TF_RETURN_IF_ERROR(check_new(to));
  const std::string part = absl::StrCat(to, ".", ::getpid(), ".tmp");
  const absl::Cleanup remove_part = [&part] {
    std::error_code ignored;
    for (const char* suffix : {"", "-journal", "-wal", "-shm"})
      std::filesystem::remove(part + suffix, ignored);
  };
  {
    TF_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> source, Connection::open(from, Access::kReadOnly));
    TF_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> copy, Connection::open(part, Access::kWrite));
    TF_RETURN_IF_ERROR(source->copy_to(*copy));
  }
  TF_RETURN_IF_ERROR(rename_durably(part, to));
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> copy, Connection::open(to, Access::kFileAlone));
  return rows::jobs(*copy, std::nullopt);
}

}  // namespace tf::database
