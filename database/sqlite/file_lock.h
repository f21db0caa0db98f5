#pragma once
// Owns: FILE.lock, which makes one process the writer of a database, and the refusal of network file systems,
// where neither this lock nor SQLite's shared memory can be trusted. Does not know: SQLite.

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tf::database {

// Beside the file that the path, or what it links to, names. Held from construction to destruction, and until
// the process dies, however it dies. A POSIX record lock: children do not inherit it, so that a surviving
// worker cannot keep a dead tuner's database locked. The file holds the holder's pid, and stays.
class FileLock {
 public:
  // FAILED_PRECONDITION with the holder's pid if another process or another lock of this process has it;
  // `remedy` ends that message with what the program's user can do.
  static absl::StatusOr<std::unique_ptr<FileLock>> acquire(const std::string& database_path,
                                                           std::string_view remedy);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  FileLock(int fd, dev_t device, ino_t inode) : fd_(fd), device_(device), inode_(inode) {}
  int fd_;
  dev_t device_;
  ino_t inode_;
};

// The name of a network file system with this statfs f_type; empty for a local one.
std::string_view network_file_system_name(unsigned long f_type);

// Where SQLite keeps the file and its log, or will: the folder of what a link leads to, also if nothing is
// there yet. "." for one without a folder.
std::string folder_of(const std::string& database_path);

// FAILED_PRECONDITION if that folder is on a network file system, NOT_FOUND if there is none.
absl::Status check_local_file_system(const std::string& database_path);

}  // namespace tf::database
