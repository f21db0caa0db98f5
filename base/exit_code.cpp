#include "base/exit_code.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

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
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  report_error(program, absl::DataLossError(absl::StrCat("not everything was written to standard output: ",
                                                         std::strerror(errno))));
  return kExitFailed;
}

}  // namespace tf
