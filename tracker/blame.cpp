#include "tracker/blame.h"

#include <algorithm>

#include "base/printable.h"

namespace tf::tracker {
namespace {

constexpr size_t kDevicesToConvict = 2;

std::string first_line(const std::string& text) {
  return printable(std::string_view(text).substr(0, text.find('\n')));
}

}  // namespace

Blame::Candidate& Blame::touch(const std::string& digest) {
  const auto [found, is_new] = candidates_.try_emplace(digest);
  if (!is_new) by_recency_.erase(found->second.recency);
  by_recency_.push_front(digest);
  found->second.recency = by_recency_.begin();
  return found->second;
}

// What is forgotten no longer counts against the candidate; against the devices it does.
void Blame::forget_oldest() {
  while (candidates_.size() > most_candidates_) {
    candidates_.erase(by_recency_.back());
    by_recency_.pop_back();
  }
}

Blame::Verdict Blame::observe(const std::string& device, const TrialOutcome& outcome) {
  Verdict verdict;
  if (outcome.end == TrialEnd::kOther || outcome.candidate.empty()) return verdict;
  if (outcome.end == TrialEnd::kMeasured) {
    open_failures_.erase(device);
    return verdict;
  }
  if (outcome.end == TrialEnd::kNotMeasured) {
    open_failures_[device].insert(outcome.candidate);  // says nothing of the candidate
    return verdict;
  }
  Candidate& candidate = touch(outcome.candidate);
  if (candidate.conviction) {
    if (outcome.end == TrialEnd::kTimedOut) {
      absl::Duration& longest = candidate.conviction->run_timeout;
      longest = std::max(longest, outcome.run_timeout);
    }
    return verdict;
  }
  candidate.failed_on[device] = outcome.end;
  open_failures_[device].insert(outcome.candidate);
  if (candidate.failed_on.size() >= kDevicesToConvict) {
    verdict.convicted = true;
    candidate.conviction = Conviction{.end = outcome.end,
                                      .devices = {},
                                      .run_timeout = outcome.run_timeout,
                                      .signal = outcome.signal,
                                      .detail = first_line(outcome.detail)};
    for (const auto& [name, end] : std::exchange(candidate.failed_on, {})) {
      candidate.conviction->devices.push_back(name);
      const auto open = open_failures_.find(name);
      if (open == open_failures_.end() || open->second.erase(outcome.candidate) == 0) continue;
      verdict.exonerated.push_back(name);
      if (open->second.empty()) open_failures_.erase(open);
    }
  }
  forget_oldest();
  return verdict;
}

const Conviction* Blame::conviction(const std::string& candidate, absl::Duration run_timeout) const {
  const auto found = candidates_.find(candidate);
  if (found == candidates_.end() || !found->second.conviction) return nullptr;
  const Conviction& conviction = *found->second.conviction;
  // Given more time, it may come to its end.
  if (conviction.end == TrialEnd::kTimedOut && run_timeout > conviction.run_timeout) return nullptr;
  return &conviction;
}

size_t Blame::failures_in_a_row(const std::string& device) const {
  const auto found = open_failures_.find(device);
  return found == open_failures_.end() ? 0 : found->second.size();
}

void Blame::forgive(const std::string& device) {
  open_failures_.erase(device);
}

}  // namespace tf::tracker
