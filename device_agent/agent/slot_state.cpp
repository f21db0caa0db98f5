#include "device_agent/agent/slot_state.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"

namespace tf::agent {

SlotState::SlotState(const rpc::Clock& clock, LeaseRef newest, SaveLease save)
    : clock_(clock), save_(std::move(save)), newest_(std::move(newest)) {}

absl::Status SlotState::apply(const Desired& desired) {
  if (desired.lease && *desired.lease != newest_) {
    if (desired.lease->epoch <= newest_.epoch) {
      return absl::FailedPreconditionError(absl::StrCat("lease ", desired.lease->id, " has epoch ",
                                                        desired.lease->epoch, ", but epoch ", newest_.epoch,
                                                        " has been served: acquire a new lease"));
    }
    TF_RETURN_IF_ERROR(save_(*desired.lease));
    newest_ = *desired.lease;
  }
  if (desired.lease != lease_) {
    lease_ = desired.lease;
    queue_.clear();
    replies_.clear();
    unsent_.clear();
    running_sequence_ = 0;
  }
  if (!lease_) return absl::OkStatus();
  expires_at_ = clock_.now() + desired.remaining;
  for (const uint64_t sequence : desired.acknowledged) {
    replies_.erase(sequence);
    unsent_.erase(sequence);
  }
  // The window is the whole truth about what is wanted: what has left it was answered or withdrawn.
  queue_.clear();
  for (const QueuedTrial& trial : desired.window) {
    const bool is_running = running_ && trial.sequence == running_sequence_;
    if (!is_running && !replies_.contains(trial.sequence)) queue_[trial.sequence] = trial.trial;
  }
  return absl::OkStatus();
}

std::optional<StartedTrial> SlotState::start() {
  if (running_ || queue_.empty() || !lease_ || clock_.now() >= expires_at_) return std::nullopt;
  auto first = queue_.extract(queue_.begin());
  running_ = true;
  running_sequence_ = first.key();
  return StartedTrial{*lease_, {first.key(), std::move(first.mapped())}};
}

void SlotState::finish(const StartedTrial& started, std::string reply) {
  TF_CHECK(running_) << "finish without start";
  running_ = false;
  if (!current(started.lease)) return;
  replies_[started.trial.sequence] = std::move(reply);
  unsent_.insert(started.trial.sequence);
}

void SlotState::requeue(const StartedTrial& started) {
  TF_CHECK(running_) << "requeue without start";
  running_ = false;
  if (current(started.lease)) queue_[started.trial.sequence] = started.trial.trial;
}

void SlotState::rewind() {
  for (const auto& [sequence, reply] : replies_) unsent_.insert(sequence);
}

std::vector<UnsentReply> SlotState::take_unsent() {
  std::vector<UnsentReply> result;
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
