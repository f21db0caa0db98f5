// What Farm has done and holds, counted.

#include "tracker/farm_state.h"

namespace tf::tracker {
namespace {

constexpr const char* kReady = "ready";

}  // namespace

// The first that applies: what keeps it from being leased, most of all first.
std::string Farm::state_of(const Device& device) const {
  if (device.session == 0) return "away";
  if (device.health.health() == Health::kQuarantined) return "quarantined";
  if (device.stopping) return "draining";
  if (device.admission == Admission::kDraining) return leases_on(device) == 0 ? "drained" : "draining";
  if (device.admission == Admission::kCordoned) return "cordoned";
  return kReady;
}

FarmCounts Farm::counts() {
  const std::scoped_lock lock(mutex_);
  FarmCounts counts = counts_;
  for (const char* state : {"away", "quarantined", "draining", "drained", "cordoned", kReady})
    counts.devices[state] = 0;
  for (const auto& [id, device] : devices_) {
    const std::string state = state_of(device);
    ++counts.devices[state];
    if (state == kReady) counts.ready_slots += device.info->slots.size();
  }
  counts.leases = leases_.active().size();
  counts.waiting = pending_.size();
  for (const auto& [lease, trials] : unanswered_) counts.unanswered_trials += trials.size();
  return counts;
}

}  // namespace tf::tracker
