#pragma once
// Owns: how much memory the bytes of transfers take together, which a slow peer may hold for long. Does not
// know: whose they are, where they go.

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

namespace tf::rpc {

// Thread-safe.
class TransferMemory {
 public:
  // What one transfer takes, for as long as this lives; not longer than the memory that it is of.
  class Share {
   public:
    Share(Share&& other) noexcept : taken_(std::exchange(other.taken_, nullptr)), bytes_(other.bytes_) {}
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (taken_) *taken_ -= bytes_;
    }

   private:
    friend class TransferMemory;
    Share(std::atomic<uint64_t>& taken, uint64_t bytes) : taken_(&taken), bytes_(bytes) {}

    std::atomic<uint64_t>* taken_;
    uint64_t bytes_;
  };

  explicit TransferMemory(uint64_t most_bytes) : most_bytes_(most_bytes) {}
  // UNAVAILABLE: too much is on its way, try again.
  absl::StatusOr<Share> take(uint64_t bytes);

 private:
  const uint64_t most_bytes_;
  std::atomic<uint64_t> taken_ = 0;
};

}  // namespace tf::rpc
