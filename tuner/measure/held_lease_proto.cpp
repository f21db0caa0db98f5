#include "tuner/measure/held_lease_proto.h"

#include "absl/strings/str_cat.h"
#include "base/event_log.h"

namespace tf::measure {

namespace pb = tunefarm::farm::v1;

void HeldLease::drop() {
  lease_.reset();
  for (auto& [sequence, pending] : pending_) {
    pending->lost = true;
    pending->made_room = making_room_;
  }
  making_room_ = false;
  pending_.clear();
  durable_.clear();
  last_sequence_ = 0;
}

std::shared_ptr<PendingTrial> HeldLease::add(const pb::Trial& trial) {
  auto pending =
      std::make_shared<PendingTrial>(PendingTrial{.sequence = ++last_sequence_, .trial = trial, .reply = {}});
  pending_[pending->sequence] = pending;
  return pending;
}

bool HeldLease::answer(pb::MeasureReply reply) {
  const auto found = pending_.find(reply.sequence());
  if (found == pending_.end()) return false;
  if (reply.has_failure()) durable_.insert(reply.sequence());
  if (reply.has_result() && lease_) {
    reply.mutable_result()->set_slot(absl::StrCat(lease_->device_id, "/", lease_->slot));
  }
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
