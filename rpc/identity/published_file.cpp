#include "rpc/identity/published_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/files/owned_fd.h"
#include "base/status.h"

namespace tf::rpc {
namespace {

absl::StatusOr<OwnedFd> in_memory(std::string_view bytes) {
  OwnedFd file(::memfd_create("credentials", MFD_CLOEXEC));
  if (file.get() >= 0 &&
      ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()))
    return file;
  return absl::ResourceExhaustedError(absl::StrCat("cannot make a memory file: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<PublishedFile> PublishedFile::make(std::string_view bytes) {
  TF_ASSIGN_OR_RETURN(const OwnedFd file, in_memory(bytes));
  const int kept = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
  if (kept < 0) return absl::ResourceExhaustedError(absl::StrCat("no descriptor: ", std::strerror(errno)));
  return PublishedFile(kept);
}

std::string PublishedFile::path() const {
  return absl::StrCat("/proc/self/fd/", fd_);
}

absl::Status PublishedFile::replace(std::string_view bytes) const {
  TF_ASSIGN_OR_RETURN(const OwnedFd file, in_memory(bytes));
  if (::dup3(file.get(), fd_, O_CLOEXEC) == fd_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("no descriptor: ", std::strerror(errno)));
}

}  // namespace tf::rpc
