#include "tests/bench/search/replay/noise.h"

#include <algorithm>
#include <limits>

namespace tf::replay {
namespace {

constexpr double kNear = 3;  // times the best

bool is_visited_again(std::span<const Visits> candidates) {
  double best = std::numeric_limits<double>::infinity();
  for (const Visits& visits : candidates)
    for (const double seconds : visits) best = std::min(best, seconds);
  size_t near = 0, again = 0;
  for (const Visits& visits : candidates) {
    if (visits.empty() || std::ranges::min(visits) > kNear * best) continue;
    ++near;
    again += visits.size() > 1;
  }
  return near > 0 && 2 * again >= near;
}

}  // namespace

std::vector<Ranked> ranked_by_other_visits(std::span<const Visits> candidates) {
  if (!is_visited_again(candidates)) return {};
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<Ranked> ranked;
  for (const Visits& visits : candidates) {
    if (visits.size() == 1) continue;
    double least[2] = {kNever, kNever};
    for (size_t i = 0; i < visits.size(); ++i) least[i % 2] = std::min(least[i % 2], visits[i]);
    ranked.push_back({visits.empty() ? 0 : least[1], -least[0]});
  }
  return ranked;
}

}  // namespace tf::replay
