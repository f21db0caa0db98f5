#include "tuner/service/sharing/slot_shares.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace tf::service {
namespace {

class Sharing {
 public:
  explicit Sharing(std::span<const SlotClaim> claims) : claims_(claims), shares_(claims.size()) {
    for (const SlotClaim& claim : claims) {
      left_.push_back(claim.usable.size());
      for (const std::string& slot : claim.usable) ++users_[slot];
      for (const std::string& slot : claim.held) ++holders_[slot];
    }
  }

  // Gives slots to those that the filter lets through, until each has so many at most.
  template <typename Filter>
  void give(size_t most_each, Filter filter) {
    while (const std::optional<size_t> next = next_claim(most_each, filter)) {
      const std::string slot = best_slot(*next);
      users_.erase(slot);
      for (size_t i = 0; i < claims_.size(); ++i) left_[i] -= claims_[i].usable.count(slot);
      shares_[*next].insert(slot);
      ++of_submitter_[claims_[*next].submitter];
    }
  }

  std::map<int64_t, std::set<std::string>> result() && {
    std::map<int64_t, std::set<std::string>> named;
    for (size_t i = 0; i < claims_.size(); ++i)
      if (!shares_[i].empty()) named.emplace(claims_[i].turn.job, std::move(shares_[i]));
    return named;
  }

 private:
  template <typename Filter>
  std::optional<size_t> next_claim(size_t most_each, Filter filter) {
    std::optional<size_t> best;
    const auto standing = [&](size_t i) {
      const SlotClaim& claim = claims_[i];
      const bool has_more = claim.held.size() > shares_[i].size();
      return std::tuple(of_submitter_[claim.submitter], shares_[i].size(), !has_more, claim.turn);
    };
    for (size_t i = 0; i < claims_.size(); ++i) {
      const SlotClaim& claim = claims_[i];
      const size_t most = claim.most == 0 ? most_each : std::min(claim.most, most_each);
      if (!filter(claim) || shares_[i].size() >= most || left_[i] == 0) continue;
      if (!best || standing(i) < standing(*best)) best = i;
    }
    return best;
  }

  // Of those that nobody was given yet, at least one.
  std::string best_slot(size_t i) const {
    const SlotClaim& claim = claims_[i];
    std::optional<std::string> best;
    const auto standing = [&](const std::string& slot) {
      const bool is_held = holders_.contains(slot), is_own = claim.held.contains(slot);
      return std::tuple(users_.at(slot), !is_own, is_held);
    };
    for (const std::string& slot : claim.usable) {
      if (!users_.contains(slot)) continue;
      if (!best || standing(slot) < standing(*best)) best = slot;
    }
    return *best;
  }

  const std::span<const SlotClaim> claims_;
  std::vector<std::set<std::string>> shares_;
  std::vector<size_t> left_;               // of each claim's usable slots, those that nobody was given yet
  std::map<std::string, size_t> users_;    // how many can use each slot that nobody was given yet
  std::map<std::string, size_t> holders_;  // of slots that are held
  std::map<std::string, size_t> of_submitter_;
};

}  // namespace

std::map<int64_t, std::set<std::string>> share_slots(std::span<const SlotClaim> claims) {
  Sharing sharing(claims);
  sharing.give(1, [](const SlotClaim& claim) { return claim.runs; });
  std::set<int> priorities;  // negative: the highest first
  for (const SlotClaim& claim : claims) priorities.insert(claim.turn.negative_priority);
  for (const int priority : priorities) {
    sharing.give(SIZE_MAX, [&](const SlotClaim& claim) { return claim.turn.negative_priority == priority; });
  }
  return std::move(sharing).result();
}

}  // namespace tf::service
