#include "rpc/transfer_memory.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::rpc {

absl::Status TransferMemory::take_bytes(uint64_t bytes) {
  if (bytes > most_bytes_ - taken_) {
    return absl::UnavailableError(
        absl::StrCat("more than ", most_bytes_ >> 20, " MiB are on their way here at once: try again"));
  }
  taken_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<TransferMemory::Share> TransferMemory::take(uint64_t bytes, const std::string& whose) {
  const std::scoped_lock lock(mutex_);
  const auto of = transfers_.find(whose);
  if (of != transfers_.end() && of->second >= most_of_each_) {
    return absl::UnavailableError(
        absl::StrCat(most_of_each_, " transfers of ", whose.empty() ? "senders without a name" : whose,
                     " are on their way here already: try again when one has come"));
  }
  TF_RETURN_IF_ERROR(take_bytes(bytes));
  const auto counted = of != transfers_.end() ? of : transfers_.emplace(whose, 0).first;
  ++counted->second;
  return Share(*this, counted, bytes);
}

absl::Status TransferMemory::grow(Share& share, uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  TF_RETURN_IF_ERROR(take_bytes(bytes));
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
  if (--share.of_->second == 0) transfers_.erase(share.of_);
}

}  // namespace tf::rpc
