#include "tests/bench/search/replay/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/bench/search/replay/pool.h"

namespace tf::replay {
namespace {

constexpr size_t kEnough = 20;

// By first replicates, which all codes have: more replicates make a code no nearer.
std::vector<const Replicates*> near_ones(std::span<const Replicates> codes) {
  double best = std::numeric_limits<double>::infinity();
  for (const Replicates& replicates : codes)
    if (!replicates.empty()) best = std::min(best, replicates.front());
  std::vector<const Replicates*> near;
  for (const Replicates& replicates : codes)
    if (!replicates.empty() && replicates.front() <= kNear * best) near.push_back(&replicates);
  return near;
}

}  // namespace

size_t replicates_of_a_label(std::span<const Replicates> codes) {
  std::vector<size_t> counts;
  for (const Replicates* replicates : near_ones(codes)) counts.push_back(replicates->size());
  if (counts.empty()) return 1;
  const auto tenth = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 10);
  std::nth_element(counts.begin(), tenth, counts.end());
  return *tenth;
}

std::vector<double> disagreements(std::span<const Replicates> codes, size_t replicates) {
  const std::vector<const Replicates*> near = near_ones(codes);
  std::vector<double> all;
  for (; replicates > 0; replicates /= 2) {
    all.clear();
    for (const Replicates* of_code : near) {
      if (of_code->size() < 2 * replicates) continue;
      const auto middle = of_code->begin() + static_cast<std::ptrdiff_t>(replicates);
      const double first = *std::min_element(of_code->begin(), middle);
      const double second = *std::min_element(middle, middle + static_cast<std::ptrdiff_t>(replicates));
      all.push_back(std::log(second / first));
    }
    if (all.size() >= std::min(kEnough, near.size())) break;
  }
  return all;
}

std::vector<Ranked> ranked_by_the_truth(std::span<const Ranked> labels,
                                        std::span<const double> disagreements) {
  std::vector<Ranked> ranked;
  if (disagreements.empty()) return ranked;
  std::mt19937_64 random(1);
  for (const Ranked& label : labels) {
    const uint64_t draw = random();
    const double off = std::fabs(disagreements[draw / 2 % disagreements.size()]);
    ranked.push_back(label);
    ranked.back().score = -label.seconds;
    if (draw % 2 == 0) ranked.back().seconds *= std::exp(off);
  }
  // Failures are told from the slowest.
  for (Ranked& each : ranked)
    if (each.seconds == 0) each.score = -std::numeric_limits<double>::infinity();
  return ranked;
}

}  // namespace tf::replay
