#include "base/cli/exit_code.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace tf {

ExitCode report_error(const char* program, const absl::Status& status) {
  std::fprintf(stderr, "%s: %.*s\n", program, static_cast<int>(status.message().size()),
               status.message().data());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitFailed;
  }
}

int finish_output(const char* program, int code) {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  const bool is_flushed = std::fflush(stdout) == 0;
  if (is_flushed && !failed_before) return code;
  // What failed before is not known any more: errno may be of anything since.
  const std::string why = is_flushed || errno == 0 ? "" : absl::StrCat(": ", std::strerror(errno));
  report_error(program,
               absl::DataLossError(absl::StrCat("standard output is incomplete: a write failed", why)));
  return kExitFailed;
}

}  // namespace tf
