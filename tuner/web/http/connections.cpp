#include "tuner/web/http/connections.h"

#include <utility>
#include <vector>

namespace tf::web {

std::optional<Connections::Id> Connections::enter(const std::string& address, bool is_loopback,
                                                  std::function<void()> abort) {
  const std::scoped_lock lock(mutex_);
  if (!is_loopback && of_each_.contains(address) && of_each_[address] >= limits_.of_each) return std::nullopt;
  if (entries_.size() >= limits_.in_all && !make_place()) return std::nullopt;
  ++of_each_[address];
  entries_[++last_] = {.address = address, .abort = std::move(abort), .waits_since = std::nullopt};
  return last_;
}

bool Connections::make_place() {
  auto longest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const auto& since = entry->second.waits_since;
    if (since && (longest == entries_.end() || *since < *longest->second.waits_since)) longest = entry;
  }
  if (longest == entries_.end()) return false;
  longest->second.abort();
  if (--of_each_[longest->second.address] == 0) of_each_.erase(longest->second.address);
  entries_.erase(longest);
  return true;
}

void Connections::set_waiting(Id id, bool waits) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  found->second.waits_since = waits ? std::optional(clock_.now()) : std::nullopt;
}

void Connections::leave(Id id) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;  // another has its place
  if (--of_each_[found->second.address] == 0) of_each_.erase(found->second.address);
  entries_.erase(found);
}

size_t Connections::count() const {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}

void Connections::abort_all() {
  const std::scoped_lock lock(mutex_);
  for (auto& [id, entry] : entries_) entry.abort();
}

}  // namespace tf::web
