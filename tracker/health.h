#pragma once
// Owns: whether a device may be trusted with trials, as a state machine fed by what candidates did there and
// by the golden kernel. Pure but for its clock. Does not know: who is to blame for one failure (blame.h),
// leases.
//
//   healthy ── several different candidates fail in a row, or the golden kernel is off ─► suspect
//   suspect ── the golden kernel is in place, or a candidate is measured ─► healthy
//   healthy, suspect ── twice as many fail, or the golden kernel is off again ─► quarantined
//   quarantined ── the golden kernel is in place; or, where it never ran, the time is over; or an operator ─►
//   probation probation ── `passes` times the golden kernel in place or a candidate measured ─► healthy
//   probation ── a candidate fails, or the golden kernel is off ─► quarantined, for twice as long

#include <cstdint>
#include <optional>
#include <string>

#include "rpc/clock.h"

namespace tf::tracker {

enum class Health { kHealthy, kSuspect, kQuarantined, kProbation };

std::string health_name(Health health);

struct HealthOptions {
  uint32_t quarantine_after = 16;  // different candidates that fail in a row; 0: never
  double golden_drift = 0.1;       // of the golden kernel's time, beyond which it is off
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
  // `in_place`: GoldenTrend::agrees; `what` says what came out otherwise.
  bool golden(bool in_place, const std::string& what);
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
  const StoredHealth& stored() const { return stored_; }

 private:
  bool become(Health health, const std::string& reason);
  bool passed();
  absl::Duration quarantine() const;

  const rpc::Clock& clock_;
  HealthOptions options_;
  StoredHealth stored_;
  rpc::Instant since_;
  uint32_t passes_ = 0;        // of this probation
  bool knows_golden_ = false;  // has ever sent a sample
};

}  // namespace tf::tracker
