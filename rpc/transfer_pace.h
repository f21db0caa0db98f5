#pragma once
// Owns: whether a transfer moves as fast as it has to. Whoever sends a byte now and then, or takes one, would
// keep what the transfer holds for as long as they like, though never stalled (stall_watch.h). Does not know:
// calls, where the bytes go.

#include <cstdint>

#include "absl/status/status.h"
#include "rpc/clock.h"
#include "rpc/transfer.h"

namespace tf::rpc {

// Of one transfer, from its beginning. Not thread-safe.
class TransferPace {
 public:
  // The clock must outlive this.
  explicit TransferPace(const Clock& clock) : clock_(clock), began_(clock.now()) {}
  // So much more has come, or was taken. DEADLINE_EXCEEDED: in all it took longer than on the slowest line
  // (longest_transfer), by more than kTransferGracePeriod.
  absl::Status moved(uint64_t bytes);

 private:
  const Clock& clock_;
  const Instant began_;
  uint64_t moved_bytes_ = 0;
};

}  // namespace tf::rpc
