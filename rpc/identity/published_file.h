#pragma once
// Owns: bytes that a library reads again and again by a path, replaced in one step by whoever checked them.
// Does not know: what they are.

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tf::rpc {

// In memory, for as long as the process runs: its readers end nobody knows when, and never may find another
// file by the path. A copy names the same file. Thread-safe.
class PublishedFile {
 public:
  // RESOURCE_EXHAUSTED without memory or descriptors.
  static absl::StatusOr<PublishedFile> make(std::string_view bytes);
  // Who opens it finds the last bytes, and goes on reading those although they are replaced.
  std::string path() const;
  absl::Status replace(std::string_view bytes) const;

 private:
  explicit PublishedFile(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tf::rpc
