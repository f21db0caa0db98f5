#include "tests/bench/search/replay/noise.h"

#include <cmath>
#include <map>
#include <random>

namespace tf::replay {
namespace {

constexpr size_t kLeastPairs = 20;
constexpr double kNear = 3;  // times the best

// Logarithms of the ratios of times of equal programs.
std::vector<double> disturbances(std::span<const Timed> candidates) {
  double best = 0;
  for (const Timed& each : candidates)
    if (each.seconds > 0 && (best == 0 || each.seconds < best)) best = each.seconds;
  std::map<std::string, double> last;
  std::vector<double> ratios;
  for (const Timed& each : candidates) {
    if (each.seconds <= 0 || each.seconds > kNear * best || each.code.empty()) continue;
    const auto [known, is_new] = last.try_emplace(each.code, each.seconds);
    if (!is_new) ratios.push_back(std::log(each.seconds / known->second));
    known->second = each.seconds;
  }
  return ratios;
}

}  // namespace

std::vector<Ranked> ranked_by_truth(std::span<const Timed> candidates) {
  const std::vector<double> ratios = disturbances(candidates);
  if (ratios.size() < kLeastPairs) return {};
  std::mt19937_64 random(1);
  std::vector<Ranked> ranked;
  for (const Timed& each : candidates) {
    const uint64_t drawn = random();
    const double sign = drawn >> 63 ? 1 : -1;
    const double disturbance = sign * ratios[drawn % ratios.size()] / std::sqrt(2.0);
    const double score = each.seconds > 0 ? -std::log(each.seconds) + disturbance : -1e300;
    ranked.push_back({each.seconds, score});
  }
  return ranked;
}

}  // namespace tf::replay
