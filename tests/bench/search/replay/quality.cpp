#include "tests/bench/search/replay/quality.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tf::replay {
namespace {

double least_seconds(std::span<const Ranked> candidates) {
  double least = 0;
  for (const Ranked& candidate : candidates) {
    if (candidate.seconds > 0 && (least == 0 || candidate.seconds < least)) least = candidate.seconds;
  }
  return least;
}

// Of those that ran, the least first.
std::vector<double> times_of(std::span<const Ranked> candidates) {
  std::vector<double> times;
  for (const Ranked& candidate : candidates) {
    if (candidate.seconds > 0) times.push_back(candidate.seconds);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// Indices of the k highest scores; ties go to the lower index.
std::vector<size_t> top(std::span<const Ranked> candidates, size_t k) {
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return candidates[a].score > candidates[b].score; });
  order.resize(std::min(k, order.size()));
  return order;
}

}  // namespace

std::optional<double> pairwise_accuracy(std::span<const Ranked> candidates, const Pairs& which) {
  const double limit = least_seconds(candidates) * which.within;
  std::vector<Ranked> near;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(near), [&](const Ranked& each) {
    return each.seconds > 0 && each.seconds <= limit && (each.late || !which.both_late);
  });
  std::sort(near.begin(), near.end(), [](const Ranked& a, const Ranked& b) { return a.seconds < b.seconds; });
  double right = 0;
  int64_t pairs = 0;
  for (size_t a = 0; a < near.size(); ++a) {
    for (size_t b = a + 1; b < near.size(); ++b) {
      if (near[a].seconds == near[b].seconds || near[b].seconds < which.apart * near[a].seconds) continue;
      ++pairs;
      right += near[a].score > near[b].score ? 1 : near[a].score == near[b].score ? 0.5 : 0;
    }
  }
  if (pairs == 0) return std::nullopt;
  return right / static_cast<double>(pairs);
}

std::optional<double> recall_at(std::span<const Ranked> candidates, size_t k) {
  std::vector<size_t> fastest;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].seconds > 0) fastest.push_back(i);
  }
  if (fastest.empty() || k == 0) return std::nullopt;
  std::stable_sort(fastest.begin(), fastest.end(),
                   [&](size_t a, size_t b) { return candidates[a].seconds < candidates[b].seconds; });
  fastest.resize(std::min(k, fastest.size()));
  const std::vector<size_t> chosen = top(candidates, k);
  const std::set<size_t> found(chosen.begin(), chosen.end());
  const auto hits =
      std::count_if(fastest.begin(), fastest.end(), [&](size_t i) { return found.contains(i); });
  return static_cast<double>(hits) / static_cast<double>(fastest.size());
}

std::optional<double> best_of_top(std::span<const Ranked> candidates, size_t k) {
  std::vector<Ranked> chosen;
  for (const size_t i : top(candidates, k)) chosen.push_back(candidates[i]);
  const double found = least_seconds(chosen);
  if (found == 0) return std::nullopt;
  return found / least_seconds(candidates);
}

std::optional<double> share_within(std::span<const Ranked> candidates, double times) {
  const std::vector<double> all = times_of(candidates);
  if (all.empty()) return std::nullopt;
  const auto end = std::upper_bound(all.begin(), all.end(), times * all.front());
  return static_cast<double>(end - all.begin()) / static_cast<double>(all.size());
}

std::optional<double> kth_over_best(std::span<const Ranked> candidates, size_t k) {
  const std::vector<double> all = times_of(candidates);
  if (all.empty() || k == 0) return std::nullopt;
  return all[std::min(k, all.size()) - 1] / all.front();
}

}  // namespace tf::replay
