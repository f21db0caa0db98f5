#pragma once
// Owns: one append-only file and those that it has become when it was full. Does not know: what its lines
// say.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/owned_fd.h"

namespace tf::rpc {

// How much of the disk the file may take. One that is full becomes FILE.1, what was FILE.1 becomes FILE.2,
// and so on; the last one goes.
struct AuditFileBounds {
  uint64_t file_bytes = 64 << 20;  // a little more, in truth: a group of lines stays together
  int old_files = 15;
};

// Not thread-safe.
class AuditFile {
 public:
  // Goes on with the file (0600), which it makes if there is none. PERMISSION_DENIED where that is
  // impossible.
  static absl::StatusOr<AuditFile> open(const std::string& path, const AuditFileBounds& bounds);

  // Writes all of the text, or none of it and UNAVAILABLE says why.
  absl::Status append(std::string_view text);
  // What was appended is on the disk.
  absl::Status sync();

 private:
  AuditFile(OwnedFd file, std::string path, const AuditFileBounds& bounds);
  absl::Status begin_new_file();
  std::string name() const;

  OwnedFd file_;
  uint64_t bytes_ = 0;
  bool is_synced_ = true;
  std::string path_;
  AuditFileBounds bounds_;
};

}  // namespace tf::rpc
