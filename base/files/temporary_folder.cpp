#include "base/files/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tf {
namespace fs = std::filesystem;

absl::StatusOr<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot find a folder for temporary files: ", error.message(), "; set TMPDIR to one"));
  }
  return make_in({parent.string()});
}

absl::StatusOr<TemporaryFolder> TemporaryFolder::make_in(const std::vector<std::string>& parents) {
  int reason = ENOENT;
  for (const std::string& parent : parents) {
    std::string path = parent + "/tunefarm.XXXXXX";
    if (mkdtemp(path.data()) != nullptr) return TemporaryFolder(std::move(path));
    reason = errno;
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "cannot make a temporary folder in ", absl::StrJoin(parents, " or "), ": ", std::strerror(reason)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace tf
