#include "base/output_file.h"

#include <array>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"

namespace tf {

absl::Status check_output(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return absl::OkStatus();
  std::array<char, kSqliteSignature.size()> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  if (std::string_view(begin.data(), begin.size()) != kSqliteSignature) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write ", path, ": a database is there; give another path, or remove it first"));
}

absl::Status write_output(const std::string& path, std::string_view bytes) {
  TF_RETURN_IF_ERROR(check_output(path));
  return write_file(path, bytes);
}

}  // namespace tf
