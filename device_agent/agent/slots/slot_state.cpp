#include "device_agent/agent/slots/slot_state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "base/testing/event_log.h"

namespace tf::agent {
namespace {

void log_trial_ended(const StartedTrial& trial) {
  log_event("trial_ended",
            {{"lease", trial.lease.id}, {"epoch", trial.lease.epoch}, {"sequence", trial.trial.sequence}});
}

}  // namespace

SlotState::SlotState(const rpc::Clock& clock, LeaseRef newest, SaveLease save, size_t most_running)
    : clock_(clock), save_(std::move(save)), newest_(std::move(newest)), most_running_(most_running) {}

absl::Status SlotState::apply(const Desired& desired) {
  if (desired.lease && *desired.lease != newest_) {
    if (desired.lease->epoch <= newest_.epoch) {
      return absl::FailedPreconditionError(absl::StrCat("lease ", desired.lease->id, " has epoch ",
                                                        desired.lease->epoch, ", but epoch ", newest_.epoch,
                                                        " has been served: acquire a new lease"));
    }
    TF_RETURN_IF_ERROR(save_(*desired.lease));
    newest_ = *desired.lease;
    log_event("lease_accepted", {{"lease", newest_.id}, {"epoch", newest_.epoch}});
  }
  if (desired.lease != lease_) {
    lease_ = desired.lease;
    route_ = Route::kRelay;
    relayed_ = false;
    acknowledged_directly_.reset();
    forget_queue();
    replies_.clear();
    reply_bytes_ = 0;
    unsent_.clear();
  }
  user_ = desired.user;
  if (!lease_) return absl::OkStatus();
  expires_at_ = clock_.now() + desired.remaining;
  for (const uint64_t sequence : desired.acknowledged) forget_reply(sequence);
  if (desired.window.empty() && route_ == Route::kDirect) return absl::OkStatus();
  close_direct(*lease_);
  relayed_ = relayed_ || !desired.window.empty();
  // The window is the whole truth about what is wanted: what has left it was answered or withdrawn.
  forget_queue();
  for (const QueuedTrial& trial : desired.window) {
    if (!is_known(trial.sequence)) enqueue(trial.sequence, trial.trial);
  }
  return absl::OkStatus();
}

bool SlotState::is_known(uint64_t sequence) const {
  const bool runs = running_.contains(sequence) && serves(running_lease_);
  return runs || replies_.contains(sequence) || queue_.contains(sequence);
}

void SlotState::enqueue(uint64_t sequence, std::string trial) {
  queue_bytes_ += trial.size();
  queue_[sequence] = std::move(trial);
}

void SlotState::forget_queue() {
  queue_.clear();
  queue_bytes_ = 0;
}

bool SlotState::forget_reply(uint64_t sequence) {
  const auto reply = replies_.find(sequence);
  if (reply == replies_.end()) return false;
  reply_bytes_ -= reply->second.size();
  replies_.erase(reply);
  unsent_.erase(sequence);
  return true;
}

absl::Status SlotState::open_direct(const LeaseRef& lease) {
  if (serves(lease)) {
    if (relayed_) {
      return absl::FailedPreconditionError(
          absl::StrCat("lease ", lease.id, " is now served through the tracker: continue there"));
    }
    route_ = Route::kDirect;
    acknowledged_directly_ = acknowledged_directly_.value_or(0);
    rewind();
    return absl::OkStatus();
  }
  if (lease.epoch > newest_.epoch || (lease == newest_ && !lease_)) {
    return absl::UnavailableError(absl::StrCat("the tracker has not announced to this agent lease ", lease.id,
                                               ": try again, or use the tracker"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("lease ", lease.id, " with epoch ", lease.epoch,
                   " is not the current lease of this slot: ask the tracker"));
}

void SlotState::close_direct(const LeaseRef& lease) {
  if (!serves(lease) || route_ != Route::kDirect) return;
  route_ = Route::kRelay;
  relayed_ = true;
  rewind();
}

void SlotState::submit(const LeaseRef& lease, QueuedTrial trial) {
  if (!serves(lease) || route_ != Route::kDirect || is_known(trial.sequence)) return;
  enqueue(trial.sequence, std::move(trial.trial));
}

void SlotState::acknowledge(const LeaseRef& lease, const std::vector<uint64_t>& sequences) {
  if (!serves(lease)) return;
  for (const uint64_t sequence : sequences) {
    if (forget_reply(sequence) && route_ == Route::kDirect) ++*acknowledged_directly_;
  }
}

std::optional<DirectWork> SlotState::direct_work() const {
  if (!lease_ || !acknowledged_directly_) return std::nullopt;
  DirectWork work{.lease = *lease_, .acknowledged = *acknowledged_directly_};
  if (route_ == Route::kRelay) return work;
  work.queued = queue_.size() + (serves(running_lease_) ? running_.size() : 0);
  work.unacknowledged = replies_.size();
  return work;
}

std::optional<StartedTrial> SlotState::start() {
  if (queue_.empty() || !lease_ || clock_.now() >= expires_at_ || !takes_replies()) return std::nullopt;
  if (running_.size() >= most_running_ || (is_running() && !serves(running_lease_))) return std::nullopt;
  auto first = queue_.extract(queue_.begin());
  queue_bytes_ -= first.mapped().size();
  running_.insert(first.key());
  running_lease_ = *lease_;
  log_event("trial_started", {{"lease", lease_->id}, {"epoch", lease_->epoch}, {"sequence", first.key()}});
  return StartedTrial{*lease_, {first.key(), std::move(first.mapped())}};
}

void SlotState::finish(const StartedTrial& started, std::string reply) {
  TF_CHECK(running_.erase(started.trial.sequence) == 1) << "finish without start";
  log_trial_ended(started);
  if (!serves(started.lease)) return;
  reply_bytes_ += reply.size();
  replies_[started.trial.sequence] = std::move(reply);
  unsent_.insert(started.trial.sequence);
}

void SlotState::requeue(const StartedTrial& started) {
  TF_CHECK(running_.erase(started.trial.sequence) == 1) << "requeue without start";
  log_trial_ended(started);
  if (serves(started.lease)) enqueue(started.trial.sequence, started.trial.trial);
}

void SlotState::rewind() {
  for (const auto& [sequence, reply] : replies_) unsent_.insert(sequence);
}

std::vector<UnsentReply> SlotState::take_unsent(Route route) {
  std::vector<UnsentReply> result;
  if (route != route_) return result;
  for (const uint64_t sequence : std::exchange(unsent_, {})) {
    result.push_back({*lease_, sequence, replies_.at(sequence)});
  }
  return result;
}

std::vector<QueuedTrial> SlotState::queued() const {
  std::vector<QueuedTrial> result;
  for (const auto& [sequence, trial] : queue_) result.push_back({sequence, trial});
  return result;
}

}  // namespace tf::agent
