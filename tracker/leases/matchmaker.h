#pragma once
// Owns: which waiting request gets which free slot, and when a lease must make room: priorities, shares,
// quotas and slices brought together. Invariant between two events: no request waits that could have a free
// slot. Pure but for its clock. Does not know: when leases end, connections, files.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/clock.h"
#include "rpc/usage_ledger.h"
#include "tracker/leases/lease.h"
#include "tracker/leases/slot_index.h"
#include "tracker/leases/user_policy.h"
#include "tracker/leases/wait_queue.h"

namespace tf::tracker {

struct MatchOptions {
  RankOptions rank;
  absl::Duration half_life = absl::Minutes(10);  // of what a slot held counts against its user
  // A lease is renewed this long even if others wait for its slot; shorter by half for each step of priority
  // that a waiting request has above it, but never shorter than `shortest_slice`.
  absl::Duration slice = absl::Minutes(5);
  absl::Duration shortest_slice = absl::Seconds(30);
  absl::Duration place_kept = absl::Seconds(30);  // for who asks again
};

// One who asks for a slot.
struct NewRequest {
  RequestKind kind;
  std::string user;
  std::string holder;
  std::string holder_run;
  int priority = 0;
  absl::Duration wait;
};

struct Match {
  RequestId id = 0;
  WaitingRequest request;
  SlotKey slot;
};

// Not thread-safe.
class Matchmaker {
 public:
  // The clock must outlive the matchmaker.
  Matchmaker(const rpc::Clock& clock, MatchOptions options, UserPolicies policies);

  // Supply.
  void describe(const std::shared_ptr<const DeviceInfo>& device) { slots_.describe(device); }
  void set_free(const SlotKey& slot, const Terms& terms);
  void set_taken(const SlotKey& slot);
  // The device is gone; none of its slots is held.
  void forget(const std::string& device_id);
  const SlotIndex& slots() const { return slots_; }

  // Demand. NOT_FOUND: no slot of the farm will ever do. RESOURCE_EXHAUSTED: the user has as many waiting as
  // it may.
  absl::StatusOr<RequestId> add(const NewRequest& request);
  // It waits no more. False: it does not.
  bool withdraw(RequestId id);
  const WaitQueue& queue() const { return queue_; }
  // Where it stands now among those who could all have the same slot.
  Rank rank(const WaitingRequest& request) const { return queue_.rank_now(request, cost(request.user)); }

  // The next match; from then on its slot is taken and held by its user. Ask until there is none, after every
  // event.
  std::optional<Match> next();
  // A lease from before a restart.
  void begin(const std::string& user);
  // A slot is held no more (by the end of its lease, or because a match came to nothing). It stays taken
  // until set_free().
  void end(const SlotKey& slot, const std::string& user);
  // OK, or ABORTED: the lease, which wants to go on, must make room for another. `reserved_for`: the user who
  // alone could have its slot next; empty: anybody.
  absl::Status may_renew(const Lease& lease, const std::string& reserved_for = "");

  const rpc::UsageLedger& usage() const { return usage_; }
  const UserPolicies& policies() const { return policies_; }

 private:
  absl::Status check_quota(const UserPolicy& policy, const std::string& user,
                           std::optional<RequestKindId> kind) const;
  bool has_quota(const std::string& user) const;
  double cost(const std::string& user) const;
  std::optional<double> cost_if_allowed(const std::string& user, const std::string& reserved_for) const;
  // Who should have the slot; nothing: nobody, or it is not free.
  std::optional<RequestId> best_for(const SlotKey& slot) const;
  void look_at_slots_for(const std::string& user);
  // Nobody is told any more to leave the slot.
  void forget_yielding(const SlotKey& slot);
  absl::Duration slice_against(int priority, const WaitingRequest& waiting) const;

  const rpc::Clock& clock_;
  const MatchOptions options_;
  const UserPolicies policies_;
  SlotIndex slots_;
  WaitQueue queue_;
  rpc::UsageLedger usage_;
  std::set<SlotKey> changed_slots_;
  std::set<std::string> changed_users_;
  // Slots whose lease was told to make room, and for which kind: so that one waiting request ends one
  // lease.
  std::map<SlotKey, RequestKindId> yielding_;
  std::map<RequestKindId, size_t> yielding_for_;
};

}  // namespace tf::tracker
