#include "base/files/open_files.h"

#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tf {

absl::Status make_room_for_files(uint64_t wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  if (limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max) {
    const rlimit raised = {std::min<rlim_t>(wanted, limit.rlim_max), limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur >= kFewestOpenFiles) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the limit of open files is ", limit.rlim_cur, " and this process needs ",
                   kFewestOpenFiles, " or more: raise it, for example with `ulimit -n ", wanted, "`"));
}

}  // namespace tf
