#include "base/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/files/owned_fd.h"
#include "base/files/write_all.h"
#include "base/testing/failpoint.h"

namespace tf {
namespace {

absl::Status errno_status(const char* action, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", action, " ", path));
}

bool is_standard_output(const struct stat& there) {
  struct stat out;
  return ::fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == there.st_dev && out.st_ino == there.st_ino;
}

absl::Status fill_in_place(const std::string& path, const struct stat& there,
                           const std::function<absl::Status(int)>& fill) {
  if (is_standard_output(there)) {
    std::fflush(stdout);  // what was printed before comes first
    return fill(STDOUT_FILENO);
  }
  const OwnedFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return errno_status("write", path);
  return fill(file.get());
}

absl::Status replace(const std::string& path, const std::function<absl::Status(int)>& fill) {
  const std::string temporary = absl::StrCat(path, ".", ::getpid(), ".tmp");
  absl::Status status;
  {
    const OwnedFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) return errno_status("write", path);
    status = fill(file.get());
    if (status.ok()) status = failpoint("file.written");
    if (status.ok() && ::fsync(file.get()) != 0) status = errno_status("write", path);
  }
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = errno_status("write", path);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  killpoint("file.renamed");
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const OwnedFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
  return absl::OkStatus();
}

}  // namespace

std::string linked_file(std::string path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path link = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = (std::filesystem::path(path).parent_path() / link).string();
  }
  return path;
}

std::string companion_of(const std::string& path, std::string_view suffix) {
  struct stat there;
  const bool is_other = ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode);
  std::string companion = is_other ? path : linked_file(path);
  return companion.append(suffix);
}

namespace {

absl::StatusOr<std::string> read_opened(const std::string& path, int64_t most_bytes, bool may_be_pipe) {
  // Of a pipe, opening waits for a writer.
  const int waits = may_be_pipe ? 0 : O_NONBLOCK;
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waits));
  if (file.get() < 0) return errno_status("read", path);
  struct stat there;
  if (::fstat(file.get(), &there) != 0) return errno_status("read", path);
  if (!may_be_pipe && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
    return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": it is not a regular file"));
  if (S_ISCHR(there.st_mode) || S_ISBLK(there.st_mode))
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", path, ": it is a device; give a file or a pipe"));
  const auto too_long = [&] {
    const bool is_small = most_bytes < (1 << 20);
    return absl::FailedPreconditionError(
        absl::StrCat("cannot read ", path, ": it is larger than the limit of ",
                     is_small ? most_bytes : most_bytes >> 20, is_small ? " bytes" : " MiB"));
  };
  if (S_ISREG(there.st_mode) && there.st_size > most_bytes) return too_long();
  std::string bytes;
  std::string chunk(1 << 16, '\0');  // some libraries' threads, as those of metrics, have little stack
  for (;;) {
    const ssize_t n = ::read(file.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status("read", path);
    if (n == 0) return bytes;
    if (static_cast<int64_t>(bytes.size()) + n > most_bytes) return too_long();
    bytes.append(chunk, 0, static_cast<size_t>(n));
  }
}

}  // namespace

absl::StatusOr<std::string> read_file(const std::string& path, int64_t most_bytes) {
  return read_opened(path, most_bytes, true);
}

absl::StatusOr<std::string> read_regular_file(const std::string& path, int64_t most_bytes) {
  return read_opened(path, most_bytes, false);
}

absl::Status replace_file(const std::string& path, const std::function<absl::Status(int)>& fill) {
  struct stat there;
  const bool is_there = ::stat(path.c_str(), &there) == 0;
  if (is_there && (!S_ISREG(there.st_mode) || is_standard_output(there)))
    return fill_in_place(path, there, fill);
  return replace(linked_file(path), fill);
}

absl::Status write_file(const std::string& path, std::string_view bytes) {
  return replace_file(path, [&](int fd) { return write_all(fd, bytes, path); });
}

}  // namespace tf
