#pragma once
// Owns: what one slot is to do and what it still has to tell: the lease it serves, trials queued and running,
// replies not yet acknowledged, and by which way its holder comes. Refuses leases older than the newest it
// has served. A pure state machine; trials and replies are opaque bytes. Does not know: streams, artifacts,
// how a trial runs.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rpc/clock.h"
#include "rpc/transfer/flow_limits.h"

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
  std::string user = "";     // who holds it
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

// By which way the holder of a lease comes, one at a time: through the tracker, or straight to the agent. It
// may change from kDirect to kRelay, once a lease: whatever the tracker says counts more.
enum class Route { kRelay, kDirect };

// What goes straight under the present lease. Answers that have come to be told through the tracker count
// there.
struct DirectWork {
  LeaseRef lease;
  uint64_t queued = 0;  // the running one among them
  uint64_t unacknowledged = 0;
  uint64_t acknowledged = 0;
  bool operator==(const DirectWork&) const = default;
};

// Not thread-safe.
class SlotState {
 public:
  // Makes a lease durable as the newest one; only then is it accepted.
  using SaveLease = std::function<absl::Status(const LeaseRef&)>;

  // `newest` is the newest lease that was ever accepted; epoch 0: none. The clock must outlive the slot. At most so many trials
  // run at once.
  SlotState(const rpc::Clock& clock, LeaseRef newest, SaveLease save, size_t most_running = 1);

  // Takes over what the tracker wants. Another lease than the present one drops what is queued and
  // unacknowledged. A trial in the window means that the holder comes through the tracker; an empty window
  // leaves one alone that comes straight. FAILED_PRECONDITION: the lease's epoch is not above all earlier
  // ones; nothing changes. Other errors: the lease could not be saved; nothing changes.
  absl::Status apply(const Desired& desired);

  // The next trial, which counts as running from now on; none if enough are running or one of another lease is, nothing is queued,
  // or the lease's time is over. It is to be ended once its lease is_over().
  std::optional<StartedTrial> start();
  // A running trial ended. Its reply is dropped if its lease is over.
  void finish(const StartedTrial& started, std::string reply);
  // A running trial could not even start (its artifact cannot be fetched now), or was ended: it is queued
  // again, if its lease goes on.
  void requeue(const StartedTrial& started);

  // A new session with the tracker: everything unacknowledged is to be sent again.
  void rewind();
  // What is to be told on this way; nothing on the way by which the holder does not come.
  std::vector<UnsentReply> take_unsent(Route route);

  // The holder comes straight. UNAVAILABLE: the tracker has not told of this lease yet. FAILED_PRECONDITION:
  // it is over, or its holder comes through the tracker already.
  absl::Status open_direct(const LeaseRef& lease);
  // Its stream is over: it will come through the tracker, if at all.
  void close_direct(const LeaseRef& lease);
  // From a holder that comes straight; what is of another lease or known is dropped, as in Relay.
  void submit(const LeaseRef& lease, QueuedTrial trial);
  void acknowledge(const LeaseRef& lease, const std::vector<uint64_t>& sequences);
  // Nothing under a lease whose holder never came straight.
  std::optional<DirectWork> direct_work() const;
  // False: a holder that comes straight is not read.
  bool takes_trials() const { return queue_.size() < limits_.trials && queue_bytes_ < limits_.trial_bytes; }
  // False: nothing is started before something is acknowledged.
  bool takes_replies() const {
    return replies_.size() < limits_.replies && reply_bytes_ < limits_.reply_bytes;
  }

  const LeaseRef& newest() const { return newest_; }
  Route route() const { return route_; }
  bool serves(const LeaseRef& lease) const { return lease_ && *lease_ == lease; }
  // Who holds the lease that is served.
  const std::string& user() const { return user_; }
  bool is_running() const { return !running_.empty(); }
  // The lease is not the present one, or its time is over.
  bool is_over(const LeaseRef& lease) const { return !serves(lease) || clock_.now() >= expires_at_; }
  // The lease of running trials, which have one and the same.
  bool running_is_over() const { return is_running() && is_over(running_lease_); }
  // When the present lease's time is over; none without one.
  std::optional<rpc::Instant> expires_at() const {
    return lease_ ? std::optional(expires_at_) : std::nullopt;
  }
  bool has_unacknowledged() const { return !replies_.empty(); }
  // Trials that are queued, in the order in which they will run.
  std::vector<QueuedTrial> queued() const;

 private:
  bool is_known(uint64_t sequence) const;
  void enqueue(uint64_t sequence, std::string trial);
  void forget_queue();
  bool forget_reply(uint64_t sequence);

  const rpc::Clock& clock_;
  SaveLease save_;
  LeaseRef newest_;
  std::optional<LeaseRef> lease_;
  std::string user_;
  rpc::Instant expires_at_;
  const rpc::FlowLimits limits_ = {};
  Route route_ = Route::kRelay;
  bool relayed_ = false;  // under lease_: its holder has come through the tracker, or must
  std::optional<uint64_t>
      acknowledged_directly_;  // under lease_: how much, once its holder has come straight
  std::map<uint64_t, std::string> queue_;
  uint64_t queue_bytes_ = 0;
  std::map<uint64_t, std::string> replies_;  // unacknowledged
  uint64_t reply_bytes_ = 0;
  std::set<uint64_t> unsent_;  // subset of replies_
  const size_t most_running_;
  std::set<uint64_t> running_;
  LeaseRef running_lease_;  // of those, while there are any
};

}  // namespace tf::agent
