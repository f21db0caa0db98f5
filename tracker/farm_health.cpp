// What Farm makes of outcomes and of the golden kernel: candidates that are answered without being run,
// devices that are kept out.

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/digest.h"
#include "rpc/daemon/log_fields.h"
#include "tracker/farm_state.h"

namespace tf::tracker {
namespace {

// Devices that go within so long of each other go together.
constexpr absl::Duration kTogether = absl::Seconds(10);

std::string end_text(TrialEnd end) {
  switch (end) {
    case TrialEnd::kCrashed:
      return "crashed";
    case TrialEnd::kTimedOut:
      return "timed out";
    case TrialEnd::kNotMeasured:
      return "could not run";
    case TrialEnd::kMeasured:
    case TrialEnd::kOther:
      break;
  }
  return "";
}

}  // namespace

void Farm::judge(Locked& lock, Device& device, const TrialOutcome& outcome) {
  const std::string& id = device.info->id;
  const bool is_blocked = blocklist_.observe(id, outcome);
  if (is_blocked) {
    const rpc::LogFields about({{"device", id}});
    spdlog::warn(absl::StrCat("candidate ", outcome.candidate, " ", end_text(outcome.end),
                              " on two boards and is blocked for ",
                              absl::FormatDuration(Blocklist::kBlockedFor), "; the last board was ", id));
  }
  bool changed = false;
  if (outcome.end == TrialEnd::kMeasured) {
    changed = device.health.candidate_measured();
  } else if (const size_t failures = blocklist_.failures_in_a_row(id);
             outcome.end != TrialEnd::kOther && failures > 0 && !is_blocked &&
             !blocklist_.blocked_candidate(outcome.candidate, outcome.run_timeout)) {
    changed = device.health.candidates_failed(failures, end_text(outcome.end));
  }
  if (changed) health_changed(lock, device);
}

// Devices that go at the same time have lost their line, or we have.
bool Farm::went_alone(const Device& device) const {
  if (device.since - last_lost_ < kTogether) return false;
  for (const auto& [until, id] : away_) {
    if (until - options_.agent_grace - device.since >= kTogether) return true;
    if (!devices_.at(id).stopping) return false;
  }
  return true;
}

// What the agent was never shown, because it was away already, it cannot have run. A holder that has no
// stream here, of a device that listens, is there with its trials.
bool Farm::was_measuring(const Device& device) const {
  return std::ranges::any_of(device.info->slots, [&](const SlotOffer& slot) {
    const Lease* lease = leases_.on({device.info->id, slot.slot});
    if (!lease) return false;
    if (device.info->listens && !streams_.contains(lease->id)) return true;
    const auto trials = unanswered_.find(lease->id);
    return trials != unanswered_.end() &&
           std::ranges::any_of(trials->second, [](const auto& trial) { return trial.second.shown; });
  });
}

// Of the candidate that ran this says nothing: we cannot tell a device that is down from a line that is cut.
void Farm::lost(Locked& lock, Device& device) {
  if (device.stopping) return;
  const bool alone = went_alone(device);
  last_lost_ = device.since;
  if (!alone || !was_measuring(device)) return;
  if (device.health.lost()) health_changed(lock, device);
  missing_.insert({device.since + options_.missing_after, device.info->id});
}

// Nobody but the agent has seen that trial: it may be believed of what it was given to measure, and no more.
bool Farm::is_believed(const Device& device, const LeaseOutcome& told) {
  const auto lease = leases_.active().find(told.lease);
  if (lease == leases_.active().end() || lease->second.slot.device_id != device.info->id) return false;
  if (!device.info->listens || !Digest::from_hex(told.outcome.candidate).ok()) return false;
  const bool is_failure = told.outcome.end != TrialEnd::kMeasured && told.outcome.end != TrialEnd::kOther;
  return !is_failure || ++failures_told_[told.lease] <= kMostFailuresTold;
}

void Farm::report_outcomes(SessionId session, const std::vector<LeaseOutcome>& outcomes) {
  Locked lock(*this);
  Device* device = by_session(session);
  if (!device) return;
  for (LeaseOutcome told : outcomes) {
    if (!is_believed(*device, told)) continue;
    told.outcome.user = leases_.active().at(told.lease).user;
    judge(lock, *device, told.outcome);
  }
  match(lock);
}

void Farm::report_direct(SessionId session, const std::vector<DirectWork>& work) {
  const std::scoped_lock lock(mutex_);
  const Device* device = by_session(session);
  if (!device || !device->info->listens) return;
  for (const DirectWork& told : work) {
    const auto lease = leases_.active().find(told.lease);
    if (lease == leases_.active().end() || lease->second.epoch != told.epoch) continue;
    if (told.slot.device_id != device->info->id || lease->second.slot != told.slot) continue;
    DirectCounts& counts = direct_[told.lease];
    if (told.number > counts.told.number) counts.told = told;
  }
}

void Farm::report_golden(SessionId session, const std::vector<GoldenSample>& samples) {
  Locked lock(*this);
  Device* device = by_session(session);
  if (!device) return;
  for (const GoldenSample& sample : samples) {
    if (!device->info->offers(sample.slot)) continue;
    GoldenTrend& trend = device->golden[sample.slot];
    const GoldenBaseline before = trend.baseline();
    const std::optional<GoldenVerdict> verdict =
        trend.add(sample, device->info->fingerprint, options_.health.golden_drift);
    if (trend.baseline() != before && (before.time_ns > 0 || trend.baseline().time_ns > 0)) {
      unsaved_.golden.insert({device->info->id, sample.slot});
      lock.save();
    }
    if (verdict) judge_golden(lock, *device, sample, *verdict);
  }
  match(lock);
}

// A device is in place when all of its slots are: then what failed there was not its fault.
void Farm::judge_golden(Locked& lock, Device& device, const GoldenSample& sample, GoldenVerdict verdict) {
  const GoldenTrend& trend = device.golden.at(sample.slot);
  if (verdict == GoldenVerdict::kInPlace) {
    const bool any_off = std::ranges::any_of(device.info->slots, [&](const SlotOffer& slot) {
      const auto other = device.golden.find(slot.slot);
      return other != device.golden.end() && other->second.is_off();
    });
    if (any_off) return;
    blocklist_.forgive(device.info->id);
    if (device.health.golden_in_place()) health_changed(lock, device);
    return;
  }
  const std::string what =
      sample.time_ns > 0
          ? absl::StrFormat("%.3f ms on slot %d (baseline %.3f ms; spread of runs %.0f%%; %.0f MHz, %.0f C)",
                            static_cast<double>(sample.time_ns) * 1e-6, sample.slot,
                            trend.baseline().time_ns * 1e-6, sample.spread * 100, sample.clock_mhz,
                            sample.temperature_c)
          : absl::StrCat("it could not run on slot ", sample.slot, ": ", sample.detail);
  if (device.health.golden_off(what, verdict == GoldenVerdict::kOffAgain)) health_changed(lock, device);
}

void Farm::health_changed(Locked& lock, Device& device) {
  const std::string& id = device.info->id;
  const Health health = device.health.health();
  device.health_since.reset();
  if (health != Health::kHealthy) device.health_since = clock_.now();
  const rpc::LogFields about({{"device", id}});
  spdlog::log(health == Health::kHealthy ? spdlog::level::info : spdlog::level::warn,
              absl::StrCat("device ", id, " is ", health_name(health),
                           device.health.reason().empty() ? "" : ": ", device.health.reason()));
  if (StoredHealth now = device.health.stored(); now != device.saved_health) {
    device.saved_health = std::move(now);
    unsaved_.devices.insert(id);
    lock.save();
  }
  if (health == Health::kQuarantined) {
    quarantined_.insert(id);
    end_leases(lock, device,
               absl::NotFoundError(absl::StrCat("device ", id, " is quarantined: ", device.health.reason())));
    lock.needs_help(id, device.health.reason());
    lock.deadline_changed();
  } else if (quarantined_.erase(id) > 0) {
    blocklist_.forgive(id);
  }
  offer(device);
  touch_all(lock, device);
}

}  // namespace tf::tracker
