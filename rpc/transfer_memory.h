#pragma once
// Owns: how much memory the bytes of transfers take together, and how many transfers and bytes of it one peer
// has: a slow peer may hold what it has for long. Does not know: where the bytes go.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tf::rpc {

struct TransferLimits {
  uint64_t bytes = 0;  // of all together
  size_t transfers_of_each = std::numeric_limits<size_t>::max();
  uint64_t bytes_of_each = std::numeric_limits<uint64_t>::max();  // of each that has a name
};

// Thread-safe.
class TransferMemory {
  struct Held {
    size_t transfers = 0;
    uint64_t bytes = 0;
  };

 public:
  // What one transfer takes, for as long as this lives; not longer than the memory that it is of.
  class Share {
   public:
    Share(Share&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), of_(other.of_), bytes_(other.bytes_) {}
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (memory_) memory_->give_back(*this);
    }
    // So much more, of a transfer that tells only on its way how large it is. Errors as take().
    absl::Status grow(uint64_t bytes) { return memory_->grow(*this, bytes); }

   private:
    friend class TransferMemory;
    using Of = std::map<std::string, Held>::iterator;
    Share(TransferMemory& memory, Of of, uint64_t bytes) : memory_(&memory), of_(of), bytes_(bytes) {}

    TransferMemory* memory_;
    Of of_;
    uint64_t bytes_;
  };

  explicit TransferMemory(const TransferLimits& limits) : limits_(limits) {}
  // UNAVAILABLE: too much is on its way, in all or of `whose`; try again. One of no bytes counts as a
  // transfer, too. RESOURCE_EXHAUSTED: so much never finds room.
  absl::StatusOr<Share> take(uint64_t bytes, const std::string& whose = "");
  uint64_t taken_bytes();

 private:
  absl::Status grow(Share& share, uint64_t bytes);
  absl::Status take_bytes(uint64_t bytes, Share::Of of);  // mutex_ is held
  void give_back(const Share& share);

  const TransferLimits limits_;
  std::mutex mutex_;
  uint64_t taken_ = 0;
  std::map<std::string, Held> held_;  // by whose it is; none is without transfers
};

}  // namespace tf::rpc
