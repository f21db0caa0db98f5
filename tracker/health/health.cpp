#include "tracker/health/health.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tf::tracker {

std::string health_name(Health health) {
  switch (health) {
    case Health::kHealthy:
      return "healthy";
    case Health::kSuspect:
      return "suspect";
    case Health::kQuarantined:
      return "quarantined";
    case Health::kProbation:
      return "probation";
  }
  return "";
}

DeviceHealth::DeviceHealth(const rpc::Clock& clock, HealthOptions options, StoredHealth stored)
    : clock_(clock), options_(options), stored_(std::move(stored)), since_(clock.now()) {
  stored_ = this->stored();  // an older tracker stored suspicions
}

StoredHealth DeviceHealth::stored() const {
  if (stored_.health != Health::kSuspect) return stored_;
  return {.health = Health::kHealthy, .reason = "", .quarantines = stored_.quarantines};
}

bool DeviceHealth::become(Health health, const std::string& reason) {
  if (stored_.health == health) return false;
  if (health == Health::kQuarantined) ++stored_.quarantines;
  if (health == Health::kHealthy) stored_.quarantines = 0;
  stored_.health = health;
  stored_.reason = reason;
  since_ = clock_.now();
  passes_ = 0;
  golden_suspects_ = false;
  return true;
}

bool DeviceHealth::suspect(const std::string& reason) {
  return stored_.health == Health::kHealthy && become(Health::kSuspect, reason);
}

bool DeviceHealth::candidates_failed(size_t in_a_row, const std::string& last) {
  if (options_.quarantine_after == 0) return false;
  const std::string reason =
      absl::StrCat(in_a_row, " different candidates failed in a row on this device, the last: ", last);
  if (!knows_golden_ && (stored_.health == Health::kProbation || in_a_row >= options_.quarantine_after))
    return become(Health::kQuarantined, reason);
  return in_a_row >= std::max<size_t>(1, options_.quarantine_after / 2) && suspect(reason);
}

bool DeviceHealth::lost() {
  return suspect("it was lost while it measured");
}

bool DeviceHealth::passed() {
  switch (stored_.health) {
    case Health::kHealthy:
      return false;
    case Health::kSuspect:
      return become(Health::kHealthy, "");
    case Health::kQuarantined:
      return become(Health::kProbation,
                    absl::StrCat("released from quarantine; the reason had been: ", stored_.reason));
    case Health::kProbation:
      return ++passes_ >= options_.golden_passes && become(Health::kHealthy, "");
  }
  return false;
}

// That a candidate runs to its end says nothing of how fast the device is. What ran before a quarantine may
// still be answered during it.
bool DeviceHealth::candidate_measured() {
  const bool counts = stored_.health == Health::kSuspect
                          ? !golden_suspects_
                          : stored_.health == Health::kProbation && !knows_golden_;
  return counts && passed();
}

bool DeviceHealth::golden_in_place() {
  knows_golden_ = true;
  return passed();
}

bool DeviceHealth::golden_off(const std::string& what, bool again) {
  knows_golden_ = true;
  const std::string reason = absl::StrCat("the golden kernel's time is abnormal: ", what);
  if (again || stored_.health == Health::kProbation) return become(Health::kQuarantined, reason);
  const bool changed = suspect(reason);
  golden_suspects_ = true;
  return changed;
}

bool DeviceHealth::readmit() {
  if (stored_.health == Health::kSuspect) return become(Health::kHealthy, "");
  if (stored_.health != Health::kQuarantined) return false;
  return become(Health::kProbation, "an operator readmitted it");
}

absl::Duration DeviceHealth::quarantine() const {
  const uint32_t doublings = std::min(stored_.quarantines, 20u) - std::min(stored_.quarantines, 1u);
  return std::min(options_.longest_quarantine, options_.shortest_quarantine * (int64_t{1} << doublings));
}

bool DeviceHealth::tick() {
  const std::optional<rpc::Instant> next = next_tick();
  return next && clock_.now() >= *next &&
         become(Health::kProbation,
                absl::StrCat("its quarantine ended; the reason had been: ", stored_.reason));
}

std::optional<rpc::Instant> DeviceHealth::next_tick() const {
  if (stored_.health != Health::kQuarantined || knows_golden_) return std::nullopt;
  return since_ + quarantine();
}

}  // namespace tf::tracker
