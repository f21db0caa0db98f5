#include "tracker/health/blocklist.h"

#include <algorithm>

#include "base/text/printable.h"
#include "tracker/leases/device.h"

namespace tf::tracker {
namespace {

// A user.
constexpr size_t kBoardsToBlock = 2;

std::string first_line(const std::string& text) {
  return printable(std::string_view(text).substr(0, text.find('\n')));
}

}  // namespace

Blocklist::Candidate& Blocklist::touch(const std::string& digest) {
  const auto [found, is_new] = candidates_.try_emplace(digest);
  if (!is_new) by_recency_.erase(found->second.recency);
  if (found->second.blocked_candidate && clock_.now() >= found->second.blocked_candidate->until)
    found->second.blocked_candidate.reset();
  by_recency_.push_front(digest);
  found->second.recency = by_recency_.begin();
  return found->second;
}

// What is forgotten no longer counts against the candidate; against the devices it does.
void Blocklist::forget(std::map<std::string, Candidate>::iterator candidate) {
  by_recency_.erase(candidate->second.recency);
  candidates_.erase(candidate);
}

void Blocklist::forget_oldest() {
  while (candidates_.size() > bounds_.candidates) forget(candidates_.find(by_recency_.back()));
}

void Blocklist::fails_on(const std::string& device, const std::string& user, const std::string& candidate) {
  std::map<std::string, Candidates>& open = open_failures_[device];
  size_t failures = 0;
  for (const auto& [whose, candidates] : open) failures += candidates.size();
  if (failures < bounds_.open_failures) open[user].insert(candidate);
}

void Blocklist::block(Candidate& candidate, const TrialOutcome& outcome) {
  const std::set<std::string> devices = std::exchange(candidate.failed_on, {});
  for (const std::string& device : devices) {
    const auto open = open_failures_.find(device);
    if (open == open_failures_.end()) continue;
    for (auto& [user, candidates] : open->second) candidates.erase(outcome.candidate);
    std::erase_if(open->second, [](const auto& each) { return each.second.empty(); });
    if (open->second.empty()) open_failures_.erase(open);
  }
  candidate.blocked_candidate = BlockedCandidate{.end = outcome.end,
                                                 .devices = {devices.begin(), devices.end()},
                                                 .run_timeout = outcome.run_timeout,
                                                 .signal = outcome.signal,
                                                 .detail = first_line(outcome.detail),
                                                 .until = clock_.now() + kBlockedFor};
}

bool Blocklist::observe(const std::string& device, const TrialOutcome& outcome) {
  if (outcome.end == TrialEnd::kOther || outcome.candidate.empty()) return false;
  if (outcome.end == TrialEnd::kMeasured) {
    open_failures_.erase(device);
    failing_.erase(outcome.user);
    return false;
  }
  if (outcome.end == TrialEnd::kNotMeasured) {
    fails_on(device, "", outcome.candidate);  // says nothing of the candidate, or whose it is
    return false;
  }
  Candidate& candidate = touch(outcome.candidate);
  if (candidate.blocked_candidate) {
    absl::Duration& longest = candidate.blocked_candidate->run_timeout;
    if (outcome.end == TrialEnd::kTimedOut) longest = std::max(longest, outcome.run_timeout);
    return false;
  }
  candidate.failed_on.insert(device);
  if (!fails(outcome.user, device)) fails_on(device, outcome.user, outcome.candidate);
  // Devices of one board are one hand's word.
  const bool fails_elsewhere = std::ranges::any_of(
      candidate.failed_on, [&](const std::string& each) { return board_of(each) != board_of(device); });
  if (fails_elsewhere) block(candidate, outcome);
  forget_oldest();
  return fails_elsewhere;
}

const BlockedCandidate* Blocklist::blocked_candidate(const std::string& candidate,
                                                     absl::Duration run_timeout) const {
  const auto found = candidates_.find(candidate);
  if (found == candidates_.end() || !found->second.blocked_candidate) return nullptr;
  const BlockedCandidate& blocked_candidate = *found->second.blocked_candidate;
  if (clock_.now() >= blocked_candidate.until) return nullptr;
  // Given more time, it may come to its end.
  if (blocked_candidate.end == TrialEnd::kTimedOut && run_timeout > blocked_candidate.run_timeout)
    return nullptr;
  return &blocked_candidate;
}

bool Blocklist::fails(const std::string& user, const std::string& device) {
  if (user.empty()) return false;
  std::set<std::string>& boards = failing_[user];
  if (boards.size() < kBoardsToBlock) boards.insert(board_of(device));
  const bool at_fault = is_at_fault(user);
  if (failing_.size() > bounds_.candidates) failing_.erase(failing_.begin());
  return at_fault;
}

bool Blocklist::is_at_fault(const std::string& user) const {
  const auto failing = failing_.find(user);
  return failing != failing_.end() && failing->second.size() >= kBoardsToBlock;
}

size_t Blocklist::failures_in_a_row(const std::string& device) const {
  const auto found = open_failures_.find(device);
  if (found == open_failures_.end()) return 0;
  size_t failures = 0;
  for (const auto& [user, candidates] : found->second)
    if (!is_at_fault(user)) failures += candidates.size();
  return failures;
}

void Blocklist::forgive(const std::string& device) {
  open_failures_.erase(device);
}

bool Blocklist::pardon(const std::string& candidate) {
  const auto found = candidates_.find(candidate);
  if (found == candidates_.end() || !found->second.blocked_candidate) return false;
  forget(found);
  return true;
}

}  // namespace tf::tracker
