#include "rpc/transfer_memory.h"

#include "absl/strings/str_cat.h"

namespace tf::rpc {

absl::StatusOr<TransferMemory::Share> TransferMemory::take(uint64_t bytes) {
  uint64_t taken = taken_;
  while (bytes <= most_bytes_ && taken <= most_bytes_ - bytes)
    if (taken_.compare_exchange_weak(taken, taken + bytes)) return Share(taken_, bytes);
  return absl::UnavailableError(
      absl::StrCat("more than ", most_bytes_ >> 20, " MiB are on their way here at once: try again"));
}

}  // namespace tf::rpc
