// What Farm makes of outcomes and of the golden kernel: candidates that are answered without being run,
// devices that are kept out.

#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tracker/farm_state.h"

namespace tf::tracker {
namespace {

std::string end_text(TrialEnd end) {
  switch (end) {
    case TrialEnd::kCrashed:
      return "crashed";
    case TrialEnd::kTimedOut:
      return "timed out";
    case TrialEnd::kLost:
      return "the device was lost";
    case TrialEnd::kNotMeasured:
      return "could not be run";
    case TrialEnd::kMeasured:
    case TrialEnd::kOther:
      break;
  }
  return "";
}

}  // namespace

void Farm::judge(Locked& lock, Device& device, const TrialOutcome& outcome) {
  const std::string& id = device.info->id;
  const Blame::Verdict verdict = blame_.observe(id, outcome);
  if (verdict.convicted) {
    spdlog::warn("candidate {} {} on two devices and is not run again; the last was {}", outcome.candidate,
                 end_text(outcome.end), id);
  }
  bool changed = false;
  if (outcome.end == TrialEnd::kMeasured) {
    changed = device.health.candidate_measured();
  } else if (const size_t failures = blame_.failures_in_a_row(id);
             outcome.end != TrialEnd::kOther && failures > 0 && !verdict.convicted &&
             !blame_.conviction(outcome.candidate, outcome.run_timeout)) {
    changed = device.health.candidates_failed(failures, end_text(outcome.end));
  }
  if (changed) health_changed(lock, device);
}

// Of each slot the first unanswered trial was the one that ran.
void Farm::blame_lost(Locked& lock, Device& device) {
  bool measured = false;
  for (const SlotOffer& slot : device.info->slots) {
    const Lease* lease = leases_.on({device.info->id, slot.slot});
    if (!lease) continue;
    const auto trials = unanswered_.find(lease->id);
    if (trials == unanswered_.end() || trials->second.empty()) continue;
    measured = true;
    const TrialFacts facts = trials->second.begin()->second;
    judge(lock, device,
          {.candidate = facts.candidate,
           .end = TrialEnd::kLost,
           .run_timeout = facts.run_timeout,
           .reply = ""});
  }
  if (measured) lock.distress(device.info->id, "it was lost while it measured");
}

void Farm::report_outcomes(SessionId session, const std::vector<TrialOutcome>& outcomes) {
  Locked lock(*this);
  Device* device = by_session(session);
  if (!device) return;
  for (const TrialOutcome& outcome : outcomes) judge(lock, *device, outcome);
  match(lock);
}

void Farm::report_golden(SessionId session, const std::vector<GoldenSample>& samples) {
  Locked lock(*this);
  Device* device = by_session(session);
  if (!device) return;
  for (const GoldenSample& sample : samples) {
    if (!device->info->offers(sample.slot)) continue;
    GoldenTrend& trend = device->golden[sample.slot];
    const GoldenBaseline before = trend.baseline();
    if (!trend.add(sample, device->info->fingerprint)) continue;
    if (trend.baseline() != before && (before.time_ns > 0 || trend.baseline().time_ns > 0)) {
      unsaved_.golden.insert({device->info->id, sample.slot});
      lock.save();
    }
    const bool in_place = trend.agrees(sample, options_.health.golden_drift);
    const std::string what =
        sample.time_ns > 0
            ? absl::StrFormat("%.3f ms on slot %d, of which the baseline is %.3f ms, at %.0f MHz and %.0f C",
                              static_cast<double>(sample.time_ns) * 1e-6, sample.slot,
                              trend.baseline().time_ns * 1e-6, sample.clock_mhz, sample.temperature_c)
            : absl::StrCat("it could not be run on slot ", sample.slot, ": ", sample.detail);
    if (device->health.golden(in_place, what)) health_changed(lock, *device);
  }
  match(lock);
}

void Farm::health_changed(Locked& lock, Device& device) {
  const std::string& id = device.info->id;
  const Health health = device.health.health();
  spdlog::warn("device {} is {}{}{}", id, health_name(health), device.health.reason().empty() ? "" : ": ",
               device.health.reason());
  unsaved_.devices.insert(id);
  lock.save();
  if (health == Health::kQuarantined) {
    quarantined_.insert(id);
    end_leases(lock, device,
               absl::NotFoundError(absl::StrCat("device ", id, " is quarantined: ", device.health.reason())));
    lock.distress(id, device.health.reason());
    lock.deadline_changed();
  } else if (quarantined_.erase(id) > 0) {
    blame_.forgive(id);
  }
  offer(device);
  touch_all(lock, device);
}

}  // namespace tf::tracker
