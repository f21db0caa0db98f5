#pragma once
// Owns: whether a device may be trusted with trials, as a state machine fed by what candidates did there and
// by the golden kernel. Pure but for its clock. Does not know: who is to blame for one failure (blocklist.h),
// leases.
//
//   healthy ── several different candidates fail in a row, it is lost, or the golden kernel is off ─► suspect
//   suspect ── the golden kernel is in place; or, unless it was off, a candidate is measured ─► healthy
//   healthy, suspect ── the golden kernel is off again ─► quarantined
//   quarantined ── the golden kernel is in place; or an operator ─► probation
//   probation ── `passes` times the golden kernel in place ─► healthy
//   probation ── the golden kernel is off ─► quarantined
//
// Of a device that runs the golden kernel, candidates that fail are no more than a reason to ask it: they may
// all be one user's. Where it never ran, there is only what candidates do, without those of users who are at
// fault themselves (blocklist.h):
//
//   healthy, suspect ── twice as many fail ─► quarantined
//   quarantined ── the time is over ─► probation
//   probation ── `passes` times a candidate is measured ─► healthy
//   probation ── a candidate fails ─► quarantined, for twice as long

#include <cstdint>
#include <optional>
#include <string>

#include "rpc/clock.h"

namespace tf::tracker {

enum class Health { kHealthy, kSuspect, kQuarantined, kProbation };

std::string health_name(Health health);

struct HealthOptions {
  uint32_t quarantine_after = 16;  // different candidates that fail in a row; 0: never
  double golden_drift = 0.1;       // by how much slower the golden kernel is off (golden_trend.h)
  uint32_t golden_passes = 2;      // out of probation
  absl::Duration shortest_quarantine =
      absl::Minutes(10);  // doubles each time, of a device without golden kernel
  absl::Duration longest_quarantine = absl::Hours(4);
};

// What outlives the tracker. A suspicion does not.
struct StoredHealth {
  Health health = Health::kHealthy;
  std::string reason;
  uint32_t quarantines = 0;  // in a row, without having been healthy in between
  bool operator==(const StoredHealth&) const = default;
};

class DeviceHealth {
 public:
  // The clock must outlive it. A quarantine begins its time again.
  DeviceHealth(const rpc::Clock& clock, HealthOptions options, StoredHealth stored = {});

  // Each returns whether the state changed.

  // As many different candidates have failed here in a row, none of which is known to be bad itself; `last`
  // says how the last one did.
  bool candidates_failed(size_t in_a_row, const std::string& last);
  bool candidate_measured();
  // It went away while it measured, and nothing else did with it.
  bool lost();
  // Whether its agent says that it runs the golden kernel. One that has sent a sample does, whatever it says.
  void runs_golden(bool runs) { knows_golden_ = runs; }
  // On one of its slots, while it was off on none of the others at their last time, if they had one yet.
  bool golden_in_place();
  // `again`: GoldenVerdict::kOffAgain; `what` says what came out.
  bool golden_off(const std::string& what, bool again);
  // An operator takes it for good.
  bool readmit();
  // Time has passed.
  bool tick();

  Health health() const { return stored_.health; }
  // Why it is not healthy, for people.
  const std::string& reason() const { return stored_.reason; }
  bool may_measure() const { return stored_.health != Health::kQuarantined; }
  // Lower is used first.
  int standing() const { return stored_.health == Health::kHealthy ? 0 : 1; }
  // The golden kernel would decide something now.
  bool wants_golden() const { return stored_.health != Health::kHealthy; }
  // When tick() should be called.
  std::optional<rpc::Instant> next_tick() const;
  // What is to outlive the tracker: a suspicion does not.
  StoredHealth stored() const;

 private:
  bool become(Health health, const std::string& reason);
  bool passed();
  bool suspect(const std::string& reason);
  absl::Duration quarantine() const;

  const rpc::Clock& clock_;
  HealthOptions options_;
  StoredHealth stored_;
  rpc::Instant since_;
  uint32_t passes_ = 0;           // of this probation
  bool knows_golden_ = false;     // runs the golden kernel
  bool golden_suspects_ = false;  // meaningful while it is suspect
};

}  // namespace tf::tracker
