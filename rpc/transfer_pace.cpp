#include "rpc/transfer_pace.h"

#include "absl/strings/str_cat.h"
#include "rpc/stall_watch.h"

namespace tf::rpc {

absl::Status TransferPace::moved(uint64_t bytes) {
  moved_bytes_ += bytes;
  const absl::Duration lasted = clock_.now() - began_;
  if (lasted <= kTransferGracePeriod + longest_transfer(moved_bytes_)) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("transfer too slow: only ", moved_bytes_,
                                                  " bytes moved in ", absl::FormatDuration(lasted),
                                                  "; send it again"));
}

}  // namespace tf::rpc
