#include "rpc/transfer_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::rpc {

absl::Status TransferMemory::take_bytes(uint64_t bytes, Share::Of of) {
  Held& held = of->second;
  const uint64_t most_of_each = of->first.empty() ? limits_.bytes : limits_.bytes_of_each;
  const uint64_t most = std::min(limits_.bytes, most_of_each);
  if (bytes > most) {
    return absl::ResourceExhaustedError(absl::StrCat("a transfer of ", bytes, " bytes is too large: at most ",
                                                     most, " may be in transfer at once"));
  }
  if (bytes > limits_.bytes - taken_) {
    return absl::UnavailableError(absl::StrCat("transfer limit reached: more than ", limits_.bytes >> 20,
                                               " MiB would be in transfer; try again later"));
  }
  if (bytes > most_of_each - held.bytes) {
    return absl::UnavailableError(absl::StrCat("transfer limit reached: more than ", most_of_each >> 20,
                                               " MiB from ", of->first,
                                               " would be in transfer; try again when one finishes"));
  }
  taken_ += bytes;
  held.bytes += bytes;
  return absl::OkStatus();
}

absl::StatusOr<TransferMemory::Share> TransferMemory::take(uint64_t bytes, const std::string& whose) {
  const std::scoped_lock lock(mutex_);
  const auto of = held_.try_emplace(whose).first;
  if (of->second.transfers >= limits_.transfers_of_each) {
    return absl::UnavailableError(absl::StrCat(whose.empty() ? "an unnamed sender" : whose, " already has ",
                                               limits_.transfers_of_each,
                                               " uploads in progress; try again when one finishes"));
  }
  const absl::Status taken = take_bytes(bytes, of);
  if (taken.ok()) {
    ++of->second.transfers;
    return Share(*this, of, bytes);
  }
  if (of->second.transfers == 0) held_.erase(of);
  return taken;
}

absl::Status TransferMemory::grow(Share& share, uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  TF_RETURN_IF_ERROR(take_bytes(bytes, share.of_));
  share.bytes_ += bytes;
  return absl::OkStatus();
}

uint64_t TransferMemory::taken_bytes() {
  const std::scoped_lock lock(mutex_);
  return taken_;
}

void TransferMemory::give_back(const Share& share) {
  const std::scoped_lock lock(mutex_);
  taken_ -= share.bytes_;
  share.of_->second.bytes -= share.bytes_;
  if (--share.of_->second.transfers == 0) held_.erase(share.of_);
}

}  // namespace tf::rpc
