#pragma once
// Owns: what one slot is to do and what it still has to tell: the lease it serves, trials queued and running,
// replies not yet acknowledged. Refuses leases older than the newest it has served. A pure state machine;
// trials and replies are opaque bytes. Does not know: streams, artifacts, how a trial runs.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rpc/clock.h"

namespace tf::agent {

struct LeaseRef {
  std::string id;
  uint64_t epoch = 0;
  bool operator==(const LeaseRef&) const = default;
};

struct QueuedTrial {
  uint64_t sequence = 0;
  std::string trial;  // serialized farm.v1.Trial
};

// What the tracker wants of a slot.
struct Desired {
  std::optional<LeaseRef> lease;
  absl::Duration remaining;  // of the lease's term
  std::vector<QueuedTrial> window;
  std::vector<uint64_t> acknowledged;
};

struct StartedTrial {
  LeaseRef lease;
  QueuedTrial trial;
};

struct UnsentReply {
  LeaseRef lease;
  uint64_t sequence = 0;
  std::string reply;  // serialized farm.v1.MeasureReply
};

// Not thread-safe.
class SlotState {
 public:
  // Makes a lease durable as the newest one; only then is it accepted.
  using SaveLease = std::function<absl::Status(const LeaseRef&)>;

  // `newest` is the newest lease that was ever accepted; epoch 0: none. The clock must outlive the slot.
  SlotState(const rpc::Clock& clock, LeaseRef newest, SaveLease save);

  // Takes over what the tracker wants. Another lease than the present one drops what is queued and
  // unacknowledged. FAILED_PRECONDITION: the lease's epoch is not above all earlier ones; nothing changes.
  // Other errors: the lease could not be saved; nothing changes.
  absl::Status apply(const Desired& desired);

  // The next trial, which counts as running from now on; none if one is running, nothing is queued, or the
  // lease's time is over.
  std::optional<StartedTrial> start();
  // The running trial ended. Its reply is dropped if its lease is over.
  void finish(const StartedTrial& started, std::string reply);
  // The running trial could not even start (its artifact cannot be fetched now): it is queued again.
  void requeue(const StartedTrial& started);

  // A new session: everything unacknowledged is to be sent again.
  void rewind();
  std::vector<UnsentReply> take_unsent();

  const LeaseRef& newest() const { return newest_; }
  bool is_running() const { return running_; }
  bool has_unacknowledged() const { return !replies_.empty(); }
  // Trials that are queued, in the order in which they will run.
  std::vector<QueuedTrial> queued() const;

 private:
  bool current(const LeaseRef& lease) const { return lease_ && *lease_ == lease; }

  const rpc::Clock& clock_;
  SaveLease save_;
  LeaseRef newest_;
  std::optional<LeaseRef> lease_;
  rpc::Instant expires_at_;
  std::map<uint64_t, std::string> queue_;
  std::map<uint64_t, std::string> replies_;  // unacknowledged
  std::set<uint64_t> unsent_;                // subset of replies_
  bool running_ = false;
  uint64_t running_sequence_ = 0;  // meaningful while running under lease_
};

}  // namespace tf::agent
