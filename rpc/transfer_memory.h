#pragma once
// Owns: how much memory the bytes of transfers take together, and how many transfers of one peer have some:
// a slow peer may hold what it has for long. Does not know: where the bytes go.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace tf::rpc {

// Thread-safe.
class TransferMemory {
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
    // So much more, of a transfer that tells only on its way how large it is. UNAVAILABLE: too much is on its
    // way.
    absl::Status grow(uint64_t bytes) { return memory_->grow(*this, bytes); }

   private:
    friend class TransferMemory;
    using Of = std::map<std::string, size_t>::iterator;
    Share(TransferMemory& memory, Of of, uint64_t bytes) : memory_(&memory), of_(of), bytes_(bytes) {}

    TransferMemory* memory_;
    Of of_;
    uint64_t bytes_;
  };

  explicit TransferMemory(uint64_t most_bytes, size_t most_of_each = std::numeric_limits<size_t>::max())
      : most_bytes_(most_bytes), most_of_each_(most_of_each) {}
  // UNAVAILABLE: too much is on its way, or as many transfers of `whose` as may be; try again. One of no
  // bytes counts as a transfer, too.
  absl::StatusOr<Share> take(uint64_t bytes, const std::string& whose = "");
  uint64_t taken_bytes();

 private:
  absl::Status grow(Share& share, uint64_t bytes);
  absl::Status take_bytes(uint64_t bytes);  // mutex_ is held
  void give_back(const Share& share);

  const uint64_t most_bytes_;
  const size_t most_of_each_;
  std::mutex mutex_;
  uint64_t taken_ = 0;
  std::map<std::string, size_t> transfers_;  // by whose they are; none is 0
};

}  // namespace tf::rpc
