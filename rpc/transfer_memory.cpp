#include "rpc/transfer_memory.h"

#include "absl/strings/str_cat.h"

namespace tf::rpc {

absl::StatusOr<TransferMemory::Share> TransferMemory::take(uint64_t bytes) {
  if (bytes <= most_bytes_) {  // else the sum could wrap around
    Share share(taken_, bytes);
    if ((taken_ += bytes) <= most_bytes_) return share;
  }
  return absl::UnavailableError(
      absl::StrCat("more than ", most_bytes_ >> 20, " MiB are on their way here at once: try again"));
}

}  // namespace tf::rpc
