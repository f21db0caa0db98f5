#include "tuner/report/curve.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace tf::report {
namespace {

constexpr size_t kOutcomes = 9;  // by their numbers, from 1

}  // namespace

std::vector<Change> changes_of_best(const Columns& columns, uint32_t kernel, const std::vector<bool>& wanted,
                                    uint32_t end) {
  const std::span<const Entry> entries = columns.entries();
  const std::span<const uint32_t> own = columns.of_kernel(kernel);
  absl::flat_hash_set<uint32_t> replaced;
  using Timed = std::pair<double, uint32_t>;
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>>
      fastest;  // and those replaced, until they come up
  std::vector<Change> changes;
  uint32_t best = Entry::kNone;
  for (size_t i = 0; i < own.size() && own[i] < end; ++i) {
    const Entry& each = entries[own[i]];
    if (!each.counts || !wanted[each.setting]) continue;
    if (each.replaces != Entry::kNone) replaced.insert(each.replaces);
    if (each.has_time()) fastest.emplace(each.ns, own[i]);
    while (!fastest.empty() && replaced.contains(fastest.top().second)) fastest.pop();
    const uint32_t now = fastest.empty() ? Entry::kNone : fastest.top().second;
    if (now == best) continue;
    best = now;
    changes.push_back({own[i], best == Entry::kNone ? 0 : entries[best].ns});
  }
  return changes;
}

std::vector<size_t> thinned_changes(std::span<const double> at_s, std::span<const double> values,
                                    size_t most) {
  std::vector<size_t> kept;
  if (at_s.size() <= most) {
    for (size_t i = 0; i < at_s.size(); ++i) kept.push_back(i);
    return kept;
  }
  const size_t spans = (most - 2) / 2;
  const double begin = at_s.front(), length = std::max(at_s.back() - begin, 1e-9);
  const auto span_of = [&](size_t i) {
    return std::min(spans - 1, static_cast<size_t>((at_s[i] - begin) / length * static_cast<double>(spans)));
  };
  // Nothing that counts is no time.
  const auto is_less = [&](size_t a, size_t b) {
    return values[a] > 0 && (values[b] == 0 || values[a] < values[b]);
  };
  std::set<size_t> chosen = {0, at_s.size() - 1};
  for (size_t i = 0; i < at_s.size();) {
    size_t least = i, last = i;
    for (; i < at_s.size() && span_of(i) == span_of(least); ++i) {
      if (is_less(i, least)) least = i;
      last = i;
    }
    chosen.insert({least, last});
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<size_t> thinned_candidates(const Columns& columns, std::span<const uint32_t> entries,
                                       const std::vector<bool>& was_best, size_t most) {
  std::vector<size_t> kept;
  if (entries.size() <= most) {
    for (size_t i = 0; i < entries.size(); ++i) kept.push_back(i);
    return kept;
  }
  std::array<std::vector<size_t>, kOutcomes> others;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (was_best[i]) {
      kept.push_back(i);
    } else {
      others[static_cast<size_t>(columns.entries()[entries[i]].outcome)].push_back(i);
    }
  }
  if (kept.size() >= most) return {kept.end() - static_cast<ptrdiff_t>(most), kept.end()};
  const size_t left = most - kept.size(), all = entries.size() - kept.size();
  size_t free = left;
  std::ranges::sort(others, {}, [](const std::vector<size_t>& of) { return of.size(); });
  for (const std::vector<size_t>& of : others) {
    if (of.empty()) continue;
    const size_t share = std::min({std::max<size_t>(1, of.size() * left / all), free, of.size()});
    for (size_t k = 0; k < share; ++k) kept.push_back(of[k * of.size() / share]);
    free -= share;
  }
  std::ranges::sort(kept);
  return kept;
}

}  // namespace tf::report
