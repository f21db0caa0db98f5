#include "tracker/leases/relay.h"

#include <utility>

namespace tf::tracker {

bool Relay::submit(uint64_t sequence, std::string trial) {
  if (done_.contains(sequence) || replies_.contains(sequence)) return false;
  const uint64_t bytes = trial.size();
  if (!queue_.emplace(sequence, std::move(trial)).second) return false;
  queue_bytes_ += bytes;
  return true;
}

void Relay::drop_trial(uint64_t sequence) {
  const auto trial = queue_.find(sequence);
  if (trial == queue_.end()) return;
  queue_bytes_ -= trial->second.size();
  queue_.erase(trial);
}

bool Relay::answer(uint64_t sequence, std::string reply) {
  if (done_.contains(sequence)) {
    tell_agent(sequence);  // which missed it
    return false;
  }
  if (replies_.size() >= 2 * limits_.replies || reply_bytes_ >= 2 * limits_.reply_bytes) return false;
  drop_trial(sequence);
  const uint64_t bytes = reply.size();
  if (!replies_.emplace(sequence, std::move(reply)).second) return false;
  reply_bytes_ += bytes;
  unsent_.insert(sequence);
  ++answered_;
  return true;
}

void Relay::acknowledge(uint64_t sequence) {
  const auto reply = replies_.find(sequence);
  if (reply == replies_.end() && !queue_.contains(sequence)) return;
  drop_trial(sequence);
  if (reply != replies_.end()) {
    reply_bytes_ -= reply->second.size();
    replies_.erase(reply);
  }
  unsent_.erase(sequence);
  done_.insert(sequence);
  tell_agent(sequence);
}

void Relay::tell_agent(uint64_t sequence) {
  if (to_agent_.size() < kMostAcknowledged) to_agent_.insert(sequence);
}

void Relay::rewind_replies() {
  for (const auto& [sequence, reply] : replies_) unsent_.insert(sequence);
}

std::vector<std::string> Relay::take_replies() {
  std::vector<std::string> result;
  for (const uint64_t sequence : unsent_) result.push_back(replies_.at(sequence));
  unsent_.clear();
  return result;
}

std::vector<QueuedTrial> Relay::window(size_t count) const {
  std::vector<QueuedTrial> result;
  if (!takes_replies()) return result;
  uint64_t bytes = 0;
  for (const auto& [sequence, trial] : queue_) {
    bytes += trial.size();
    if (result.size() == count || (!result.empty() && bytes > rpc::kWindowBytes)) break;
    result.push_back({sequence, trial});
  }
  return result;
}

std::vector<uint64_t> Relay::take_acknowledged() {
  const std::set<uint64_t> taken = std::exchange(to_agent_, {});
  return {taken.begin(), taken.end()};
}

}  // namespace tf::tracker
