#pragma once
// Owns: which slot is leased to whom, until when, under which fencing epoch. A pure state machine: time comes
// from the Clock it is given, durability is the caller's. Does not know: devices, trials, connections, files.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/clock.h"
#include "tracker/leases/device.h"

namespace tf::tracker {

struct LeaseId {
  std::string text;
  auto operator<=>(const LeaseId&) const = default;
};

struct Lease {
  LeaseId id;
  SlotKey slot;
  uint64_t epoch = 0;
  std::string holder;       // the same after the holder's restart
  std::string holder_run;   // this run of it
  uint64_t run_number = 0;  // grows with each run; 0: not known
  std::string user;         // whose share and quota it counts against
  std::string purpose;      // for people: the tuner's job; empty: it did not say
  int priority = 0;         // of the request that it answers
  // Serial of the one by which it was last asked for; empty: plain text, or not renewed since a restart.
  std::string certificate;
  absl::Duration term;
  rpc::Instant granted_at;  // or restored
  rpc::Instant expires_at;  // valid strictly before
};

// Not thread-safe. No operation but of_certificates looks at all leases.
class LeaseTable {
 public:
  // The clock must outlive the table.
  explicit LeaseTable(const rpc::Clock& clock) : clock_(clock) {}

  // A free slot's next lease: the one given, with its epoch and its times. Changes nothing: make it durable,
  // then commit it.
  Lease propose(Lease lease) const;
  // The lease begins. Its slot must be free and its epoch above all earlier ones of the slot.
  void commit(const Lease& lease);
  // What was committed before a restart. A lease gets a full term again: the time the tracker was away is not
  // its holder's fault.
  void restore(Lease lease);
  // No lease of this slot will have this epoch or a lower one.
  void raise_epoch(const SlotKey& slot, uint64_t epoch);
  uint64_t epoch(const SlotKey& slot) const;
  // Of how many slots it is remembered: for ever.
  size_t epochs() const { return epochs_.size(); }

  // The term starts again. NOT_FOUND: ended, expired, or another epoch.
  absl::StatusOr<Lease> renew(const LeaseId& id, uint64_t epoch, const std::string& certificate = "");
  // The lease if it is valid now. NOT_FOUND otherwise.
  absl::StatusOr<Lease> find(const LeaseId& id, uint64_t epoch) const;
  // Nothing if it has ended before.
  std::optional<Lease> end(const LeaseId& id);

  const Lease* on(const SlotKey& slot) const;
  const std::map<LeaseId, Lease>& active() const { return leases_; }
  // Leases whose time is over; they stay active until end().
  std::vector<Lease> expired() const;
  std::optional<rpc::Instant> next_expiry() const;
  // The leases of all runs of the holder.
  std::vector<Lease> of_holder(const std::string& holder) const;
  std::vector<Lease> of_certificates(const std::set<std::string>& serials) const;

 private:
  void insert(Lease lease);

  const rpc::Clock& clock_;
  std::map<LeaseId, Lease> leases_;
  std::set<std::pair<rpc::Instant, LeaseId>> by_expiry_;
  std::map<std::string, std::set<LeaseId>> by_holder_;
  std::map<SlotKey, LeaseId> by_slot_;
  std::map<SlotKey, uint64_t> epochs_;  // the highest ever
};

}  // namespace tf::tracker
