#pragma once
// Owns: TransferBudget, what peers may hold by their transfers: bytes and transfers, in all and each, and
// time. Does not know: calls, where the bytes go.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/clock.h"
#include "rpc/periodic_task.h"
#include "rpc/transfer/transfer.h"

namespace tf::rpc {

// How long a server waits in all for a peer that is slower than longest_transfer().
inline constexpr absl::Duration kTransferGracePeriod = absl::Minutes(1);
// For what a stream begins with, which is known when it is opened.
inline constexpr absl::Duration kHelloGracePeriod = absl::Seconds(20);

// DEADLINE_EXCEEDED: a peer has brought nothing for so long.
absl::Status nothing_received(absl::Duration grace_period);

struct TransferLimits {
  uint64_t bytes = std::numeric_limits<uint64_t>::max();  // of all together
  size_t transfers_of_each = std::numeric_limits<size_t>::max();
  uint64_t bytes_of_each = std::numeric_limits<uint64_t>::max();  // of each that has a name
};

// A transfer begins with a grace period, and waiting for its peer uses it up. Bytes that move give back the
// time that they take on the slowest line (longest_transfer), up to the grace period. A transfer without time
// left is ended. So a silent peer, or one that sends a byte now and then, holds memory for about a grace
// period at most, and a peer as fast as the slowest line may take as long as the bytes need.
//
// Thread-safe; has a thread of its own. Must outlive its transfers.
class TransferBudget {
  struct Held {
    size_t transfers = 0;
    uint64_t bytes = 0;
  };
  struct State;

 public:
  // Lives as long as the transfer. For one thread at a time.
  class Transfer {
   public:
    Transfer(Transfer&&) noexcept = default;
    Transfer& operator=(Transfer&&) = delete;
    ~Transfer() { finish().IgnoreError(); }

    // Takes this many bytes more. `whose` is the peer's name, the same at each call; with 0 bytes the
    // transfer counts as one of the peer. UNAVAILABLE: too much is in transfer, in all or of the peer; try
    // again. RESOURCE_EXHAUSTED: so much never fits.
    absl::Status take(uint64_t bytes, const std::string& whose = "");
    // Begins to wait for the peer, until moved().
    void wait();
    // Ends the wait, in which this many bytes were received or sent. DEADLINE_EXCEEDED: no time was left.
    absl::Status moved(uint64_t bytes);
    // Gives everything back. Afterwards `end` is not called, and it has returned if it was, unless it is what
    // calls this. Returns what moved() would.
    absl::Status finish();

   private:
    friend class TransferBudget;
    Transfer(TransferBudget& budget, std::shared_ptr<State> state)
        : budget_(&budget), state_(std::move(state)) {}

    TransferBudget* budget_;
    std::shared_ptr<State> state_;  // null: finished
  };

  // The clock must be thread-safe and outlive this; it is looked at often enough to be a test's.
  explicit TransferBudget(const TransferLimits& limits = {}, const Clock& clock = real_clock());

  // `end` makes the wait return, for example by cancelling the call. It is called at most once, on the
  // budget's thread.
  Transfer begin(std::function<void()> end, absl::Duration grace_period = kTransferGracePeriod);
  uint64_t taken_bytes() const;

 private:
  absl::Status take(State& state, uint64_t bytes, const std::string& whose);
  absl::Status take_bytes(uint64_t bytes, const std::string& whose, Held& held);  // mutex_ is held
  absl::Status status_of(const State& state) const;                               // mutex_ is held
  absl::Duration end_expired();  // until it is to be called again

  const TransferLimits limits_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  uint64_t taken_ = 0;
  std::map<std::string, Held> held_;  // by whose it is; none is without transfers
  std::list<std::shared_ptr<State>> transfers_;
  PeriodicTask watching_;
};

}  // namespace tf::rpc
