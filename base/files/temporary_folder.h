#pragma once
// Owns: a folder of one's own that goes away.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tf {

// A new, empty folder that only this user may enter; it goes with the value, and all that is in it. A
// moved-from value owns none.
class TemporaryFolder {
 public:
  // In the system's folder for temporary files (TMPDIR, else /tmp). PERMISSION_DENIED where that is
  // impossible.
  static absl::StatusOr<TemporaryFolder> make();
  // In the first of these that lets us.
  static absl::StatusOr<TemporaryFolder> make_in(const std::vector<std::string>& parents);

  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFolder();

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace tf
