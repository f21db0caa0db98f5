#include "rpc/access/audit_file.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/files/write_all.h"
#include "base/status.h"

namespace tf::rpc {
namespace {

absl::StatusOr<OwnedFd> open_file(const std::string& path) {
  OwnedFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (file.get() >= 0) return file;
  return absl::PermissionDeniedError(
      absl::StrCat("cannot write the audit log ", path, ": ", std::strerror(errno)));
}

uint64_t size_of(const OwnedFd& file) {
  struct stat there {};
  return ::fstat(file.get(), &there) == 0 ? static_cast<uint64_t>(there.st_size) : 0;
}

}  // namespace

absl::StatusOr<AuditFile> AuditFile::open(const std::string& path, const AuditFileBounds& bounds) {
  TF_ASSIGN_OR_RETURN(OwnedFd file, open_file(path));
  return AuditFile(std::move(file), path, bounds);
}

AuditFile::AuditFile(OwnedFd file, std::string path, const AuditFileBounds& bounds)
    : file_(std::move(file)), bytes_(size_of(file_)), path_(std::move(path)), bounds_(bounds) {}

absl::Status AuditFile::append(std::string_view text) {
  if (text.empty()) return absl::OkStatus();
  if (bytes_ >= bounds_.file_bytes) {
    // Rather a file that is too big than lines that are lost.
    if (const absl::Status begun = begin_new_file(); !begun.ok()) spdlog::error(std::string(begun.message()));
  }
  is_synced_ = false;
  const absl::Status written = write_all(file_.get(), text, name());
  if (written.ok()) {
    bytes_ += text.size();
    return absl::OkStatus();
  }
  // No line stands there by half, or twice when it is tried again.
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) bytes_ = size_of(file_);
  return absl::UnavailableError(written.message());
}

absl::Status AuditFile::sync() {
  if (is_synced_) return absl::OkStatus();
  if (::fdatasync(file_.get()) != 0)
    return absl::UnavailableError(absl::StrCat("cannot sync ", name(), ": ", std::strerror(errno)));
  is_synced_ = true;
  return absl::OkStatus();
}

std::string AuditFile::name() const {
  return absl::StrCat("the audit log ", path_);
}

absl::Status AuditFile::begin_new_file() {
  TF_RETURN_IF_ERROR(sync());
  const auto old = [&](int i) { return i == 0 ? path_ : absl::StrCat(path_, ".", i); };
  // Where one is missing, that is one move less.
  for (int i = bounds_.old_files; i > 0; --i) std::rename(old(i - 1).c_str(), old(i).c_str());
  if (bounds_.old_files == 0) std::remove(path_.c_str());
  TF_ASSIGN_OR_RETURN(file_, open_file(path_));
  bytes_ = size_of(file_);
  return absl::OkStatus();
}

}  // namespace tf::rpc
