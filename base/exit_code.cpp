#include "base/exit_code.h"

#include <cstdio>

namespace tf {

ExitCode report_error(const char* program, const absl::Status& status) {
  std::fprintf(stderr, "%s: %.*s\n", program, static_cast<int>(status.message().size()), status.message().data());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return kExitUsage;
    case absl::StatusCode::kCancelled:
      return kExitInterrupted;
    default:
      return kExitFailed;
  }
}

}  // namespace tf
