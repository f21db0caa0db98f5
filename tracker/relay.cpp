#include "tracker/relay.h"

#include <utility>

namespace tf::tracker {

void SequenceSet::insert(uint64_t sequence) {
  if (contains(sequence)) return;
  sparse_.insert(sequence);
  while (!sparse_.empty() && *sparse_.begin() == below_ + 1) {
    sparse_.erase(sparse_.begin());
    ++below_;
  }
}

bool Relay::submit(uint64_t sequence, std::string trial) {
  if (done_.contains(sequence) || replies_.contains(sequence)) return false;
  return queue_.emplace(sequence, std::move(trial)).second;
}

bool Relay::answer(uint64_t sequence, std::string reply) {
  queue_.erase(sequence);
  if (done_.contains(sequence)) {
    to_agent_.push_back(sequence);  // the agent missed it
    return false;
  }
  if (!replies_.emplace(sequence, std::move(reply)).second) return false;
  unsent_.insert(sequence);
  ++answered_;
  return true;
}

void Relay::acknowledge(uint64_t sequence) {
  queue_.erase(sequence);
  replies_.erase(sequence);
  unsent_.erase(sequence);
  done_.insert(sequence);
  to_agent_.push_back(sequence);
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
  for (const auto& [sequence, trial] : queue_) {
    if (result.size() == count) break;
    result.push_back({sequence, trial});
  }
  return result;
}

std::vector<uint64_t> Relay::take_acknowledged() {
  return std::exchange(to_agent_, {});
}

}  // namespace tf::tracker
