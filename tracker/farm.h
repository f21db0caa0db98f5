#pragma once
// Owns: the tracker's whole state behind one lock: devices and their sessions, leases, who waits for one, and
// the trials under way. Makes leases durable before it grants them. Does not know: gRPC; streams are Links to
// it.

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/clock.h"
#include "tracker/device.h"
#include "tracker/lease.h"
#include "tracker/relay.h"

namespace tf::tracker {

class StateStore;

// The tracker's end of a stream. Called without the farm's lock; late calls after the stream's end must do
// nothing.
class Link {
 public:
  virtual ~Link() = default;
  // There is something to take (take_desired, take_replies). Calls may be merged.
  virtual void wake() = 0;
  virtual void close(const absl::Status& status) = 0;
};

struct Grant {
  Lease lease;
  DeviceInfo device;
  uint32_t threads = 0;
};

// Someone who waits for a lease. Answered exactly once unless cancelled, without the farm's lock.
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void answer(absl::StatusOr<Grant> grant) = 0;
};

struct AcquireRequest {
  std::string key;
  Requirements requirements;
  absl::Duration wait;
  absl::Duration term;  // zero: the farm's choice
  std::string holder;
  std::string holder_run;
};

struct AgentReply {
  SlotKey slot;
  LeaseId lease;
  uint64_t epoch = 0;
  uint64_t sequence = 0;
  std::string reply;  // serialized farm.v1.MeasureReply
};

// What the agent should do with one slot.
struct DesiredSlot {
  uint32_t slot = 0;
  std::optional<Lease> lease;
  absl::Duration remaining;
  std::vector<QueuedTrial> window;
  std::vector<uint64_t> acknowledged;
};

struct SlotStatus {
  uint32_t slot = 0;
  uint64_t epoch = 0;
  std::optional<Lease> lease;
  absl::Duration remaining;
  size_t unanswered = 0;
  size_t unacknowledged = 0;
  uint64_t answered = 0;
};

struct DeviceStatus {
  DeviceInfo info;
  bool online = false;
  bool draining = false;
  absl::Duration since;
  std::vector<SlotStatus> slots;
};

struct FarmOptions {
  absl::Duration default_term = absl::Seconds(60);
  absl::Duration longest_term = absl::Minutes(10);
  absl::Duration longest_wait = absl::Minutes(10);
  absl::Duration agent_grace = absl::Seconds(30);  // an agent that is away longer loses its leases
  size_t window = 4;                               // trials that an agent has ahead
  rpc::FlowLimits flow;                            // of a lease, before its stream is no longer read
};

// Thread-safe.
class Farm {
 public:
  using SessionId = uint64_t;

  // Takes over what the store holds. Clock and store must outlive the farm.
  static absl::StatusOr<std::unique_ptr<Farm>> open(const rpc::Clock& clock, StateStore& store,
                                                    FarmOptions options = {});
  ~Farm();

  // Agents.
  // Begins a session, ending an older one of the same device. `run` names the agent's process.
  absl::StatusOr<SessionId> attach(const DeviceInfo& device, const std::string& run,
                                   std::shared_ptr<Link> link);
  void detach(SessionId session);
  void report(SessionId session, const std::vector<AgentReply>& replies, bool stopping);
  // What changed since the last call; empty: nothing.
  std::vector<DesiredSlot> take_desired(SessionId session);

  // Tuners.
  void acquire(AcquireRequest request, std::shared_ptr<Waiter> waiter);
  // True: it waited and will not be answered. False: it has been answered or is about to be.
  bool cancel(const Waiter* waiter);
  absl::StatusOr<Grant> renew(const LeaseId& id, uint64_t epoch);
  void release(const LeaseId& id, uint64_t epoch);
  // Begins a measure stream, ending an older one of the same lease. NOT_FOUND: the lease has ended.
  absl::StatusOr<SessionId> open_stream(const LeaseId& id, uint64_t epoch, std::shared_ptr<Link> link);
  void close_stream(SessionId stream);
  // False: enough is under way, read no more from the stream until the next wake(). A holder that has sent as
  // many trials as may be unanswered and acknowledged none of as many results could never go on: its lease
  // ends.
  bool submit(SessionId stream, uint64_t sequence, std::string trial);
  bool has_room(SessionId stream);
  void acknowledge(SessionId stream, const std::vector<uint64_t>& sequences);
  std::vector<std::string> take_replies(SessionId stream);

  // Operators.
  std::vector<DeviceStatus> devices();
  absl::Status drain(const std::string& device_id, bool draining);
  // Ends the leases with this id or on this device.
  absl::StatusOr<std::vector<LeaseId>> force_release(const std::string& name);

  // Time. Ends what is over; returns when to call again, at the latest.
  std::optional<rpc::Instant> tick();
  // Called, without the lock, whenever tick()'s answer may have become earlier. Set before serving.
  void on_deadline_change(std::function<void()> callback) { deadline_changed_ = std::move(callback); }

 private:
  struct Device;
  struct Stream;
  struct Waiting;
  class Locked;

  Farm(const rpc::Clock& clock, StateStore& store, FarmOptions options);
  Device* by_session(SessionId session);
  Stream* by_stream(SessionId stream);
  void touch(Locked& lock, const SlotKey& slot);
  void end_if_stuck(Locked& lock, const LeaseId& id);
  void end_lease(Locked& lock, const LeaseId& id, const absl::Status& why);
  void end_orphans(Locked& lock, const DeviceInfo& now);
  void match(Locked& lock);
  bool try_grant(Locked& lock, Waiting& waiting);
  absl::Status check_satisfiable(const AcquireRequest& request) const;
  std::string busy_text(const AcquireRequest& request) const;
  absl::Status why_unknown(const std::string& key) const;
  std::optional<rpc::Instant> next_deadline() const;

  const rpc::Clock& clock_;
  StateStore& store_;
  const FarmOptions options_;
  std::function<void()> deadline_changed_;
  std::mutex mutex_;
  LeaseTable leases_;
  std::map<std::string, Device> devices_;
  std::map<LeaseId, Relay> relays_;
  std::map<LeaseId, Stream> streams_;
  std::map<SessionId, std::string> device_of_;  // sessions that are current
  std::map<SessionId, LeaseId> lease_of_;       // streams that are current
  std::list<Waiting> waiting_;                  // first come, first served
  SessionId last_session_ = 0;
};

}  // namespace tf::tracker
