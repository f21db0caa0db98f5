#include "tuner/measure/held_lease.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/testing/event_log.h"

namespace tf::measure {

namespace pb = tunefarm::farm::v1;

namespace {

// The database fences by these names and knows by them what it has: they are the holder's, whatever the agent
// wrote. A result of another artifact is none of this trial.
void identify(const LeasedDevice& lease, const PendingTrial& pending, pb::MeasureReply& reply) {
  pb::TrialResult& result = *reply.mutable_result();
  const std::string& asked = pending.trial.artifact_digest();
  if (!result.artifact_digest().empty() && result.artifact_digest() != asked) {
    pb::Failure& failure = *reply.mutable_failure();
    failure.set_kind(pb::FAILURE_KIND_DEVICE);
    failure.set_message("the agent replied for a different artifact");
    return;
  }
  result.set_artifact_digest(asked);
  result.set_lease_id(lease.lease_id);
  result.set_epoch(lease.epoch);
  result.set_sequence(pending.sequence);
  result.set_slot(absl::StrCat(lease.device_id, "/", lease.slot));
}

}  // namespace

void HeldLease::drop() {
  lease_.reset();
  for (auto& [sequence, pending] : pending_) {
    pending->lost = true;
    pending->made_room = making_room_;
  }
  making_room_ = false;
  pending_.clear();
  durable_ = {};
  last_sequence_ = 0;
}

LongestTrial HeldLease::longest_unanswered() const {
  LongestTrial longest;
  for (const auto& [sequence, pending] : pending_) {
    longest.run_limit =
        std::max(longest.run_limit, absl::Nanoseconds(pending->trial.limits().run_timeout_ns()));
    longest.artifact_bytes = std::max(longest.artifact_bytes, pending->artifact_bytes);
  }
  return longest;
}

std::shared_ptr<PendingTrial> HeldLease::add(const pb::Trial& trial, uint64_t artifact_bytes) {
  auto pending = std::make_shared<PendingTrial>(PendingTrial{
      .sequence = ++last_sequence_, .trial = trial, .artifact_bytes = artifact_bytes, .reply = {}});
  pending_[pending->sequence] = pending;
  return pending;
}

bool HeldLease::answer(pb::MeasureReply reply) {
  const auto found = pending_.find(reply.sequence());
  if (found == pending_.end()) return false;
  if (reply.has_result() && lease_) identify(*lease_, *found->second, reply);
  if (reply.has_failure()) durable_.insert(reply.sequence());
  found->second->reply = std::move(reply);
  pending_.erase(found);
  return true;
}

bool HeldLease::set_durable(const pb::TrialResult& result) {
  if (!lease_ || lease_->lease_id != result.lease_id() || lease_->epoch != result.epoch()) return false;
  log_event("acknowledged",
            {{"lease", result.lease_id()}, {"epoch", result.epoch()}, {"sequence", result.sequence()}});
  durable_.insert(result.sequence());
  return true;
}

}  // namespace tf::measure
