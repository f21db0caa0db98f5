#include "base/files/output_file.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
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

absl::Status check_is_no_input(const std::string& output, std::string_view option,
                               const std::vector<std::string>& inputs) {
  struct stat written;
  if (::stat(output.c_str(), &written) != 0 || !S_ISREG(written.st_mode)) return absl::OkStatus();
  for (const std::string& input : inputs) {
    struct stat read;
    if (::stat(input.c_str(), &read) != 0 || read.st_dev != written.st_dev || read.st_ino != written.st_ino)
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", output, ": ",
                     input == output ? "this command uses that file"
                                     : absl::StrCat("it is ", input, ", which this command uses"),
                     "; give another ", std::string(option)));
  }
  return absl::OkStatus();
}

absl::Status write_output(const std::string& path, std::string_view bytes) {
  TF_RETURN_IF_ERROR(check_output(path));
  return write_file(path, bytes);
}

}  // namespace tf
