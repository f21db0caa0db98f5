#include "database/sqlite/file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/remedy.h"

namespace tf::database {
namespace {

// A process's own second record lock would succeed, and closing any descriptor of the file drops the first;
// so the locks of this process are known here, before the file is opened.
struct HeldLocks {
  std::mutex mutex;
  std::set<std::pair<dev_t, ino_t>> files;
};
HeldLocks& held_locks() {
  static HeldLocks held;
  return held;
}

absl::Status held_by_another(const std::string& database_path, pid_t holder, std::string_view remedy) {
  return with_remedy(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("cannot write ", database_path, ": process ", holder, " is writing it"),
                     remedy, Between::kSemicolon);
}

absl::Status cannot_lock(const std::string& lock_path) {
  const int reason = errno;
  return with_remedy(absl::ErrnoToStatusCode(reason),
                     absl::StrCat("cannot lock ", lock_path, ": ", std::generic_category().message(reason)),
                     "check that its folder is writable and that it is not a link", Between::kSemicolon);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileLock>> FileLock::acquire(const std::string& database_path,
                                                            std::string_view remedy) {
  const std::string lock_path = companion_of(database_path, ".lock");
  HeldLocks& held = held_locks();
  std::lock_guard guard(held.mutex);
  struct stat info;
  if (::stat(lock_path.c_str(), &info) == 0 && held.files.contains({info.st_dev, info.st_ino})) {
    return held_by_another(database_path, ::getpid(), remedy);
  }
  // It is emptied: who may write to the folder must not make that another file by a link.
  const int fd = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return cannot_lock(lock_path);
  struct flock request = {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  if (::fcntl(fd, F_SETLK, &request) != 0) {
    const bool taken = errno == EACCES || errno == EAGAIN;
    absl::Status status = cannot_lock(lock_path);
    if (taken) {
      struct flock holder = request;
      const bool known = ::fcntl(fd, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK;
      status = held_by_another(database_path, known ? holder.l_pid : 0, remedy);
    }
    ::close(fd);
    return status;
  }
  const std::string pid = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size()) ||
      ::fstat(fd, &info) != 0) {
    absl::Status status = cannot_lock(lock_path);
    ::close(fd);
    return status;
  }
  held.files.insert({info.st_dev, info.st_ino});
  return std::unique_ptr<FileLock>(new FileLock(fd, info.st_dev, info.st_ino));
}

FileLock::~FileLock() {
  HeldLocks& held = held_locks();
  std::lock_guard guard(held.mutex);
  held.files.erase({device_, inode_});
  ::close(fd_);
}

std::string_view network_file_system_name(unsigned long f_type) {
  switch (f_type & 0xffffffff) {
    case 0x6969:
      return "NFS";
    case 0x517b:
      return "SMB";
    case 0xff534d42:
      return "CIFS";
    case 0xfe534d42:
      return "SMB2";
    case 0x5346414f:
      return "AFS";
    case 0x73757245:
      return "Coda";
    case 0x00c36400:
      return "Ceph";
    case 0x0bd00bd0:
      return "Lustre";
    case 0x47504653:
      return "GPFS";
    case 0x01021997:
      return "9P";
    default:
      return "";
  }
}

std::string folder_of(const std::string& database_path) {
  const std::string folder = std::filesystem::path(linked_file(database_path)).parent_path().string();
  return folder.empty() ? "." : folder;
}

absl::Status check_local_file_system(const std::string& database_path) {
  const std::string folder = folder_of(database_path);
  struct statfs info;
  if (::statfs((folder + "/").c_str(), &info) != 0) {  // the slash: a file is no folder
    const int reason = errno;
    return with_remedy(absl::ErrnoToStatusCode(reason),
                       absl::StrCat("cannot open the database ", database_path, ": folder ", folder,
                                    " cannot be read (", std::generic_category().message(reason), ")"),
                       "make it or give another path", Between::kSemicolon);
  }
  const std::string_view network = network_file_system_name(static_cast<unsigned long>(info.f_type));
  if (network.empty()) return absl::OkStatus();
  return with_remedy(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat("cannot keep a database at ", database_path, ": its folder is on a network file system (",
                   std::string(network), "), which can lose its log"),
      "use a local disk, or talk to a tuner (--db tuner://HOST:PORT)", Between::kSemicolon);
}

}  // namespace tf::database
