#include "tests/bench/search/replay/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/bench/search/replay/median.h"

namespace tf::replay {
namespace {

constexpr double kNoise = 1.01;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::optional<Cost> cost_to_reach(std::span<const Step> run, double seconds) {
  size_t from = run.size();
  while (from > 0 && run[from - 1].best_seconds > 0 && run[from - 1].best_seconds <= seconds) --from;
  if (from == run.size()) return std::nullopt;
  return Cost{static_cast<double>(from + 1), run[from].device_seconds};
}

size_t most_trials(const Runs& runs) {
  size_t most = 0;
  for (const std::vector<Step>& run : runs) most = std::max(most, run.size());
  return most;
}

Step typical_step(const Runs& runs, size_t trials) {
  std::vector<double> device_seconds, best_seconds;
  for (const std::vector<Step>& run : runs) {
    const Step step = run.empty() || trials == 0 ? Step{} : run[std::min(trials, run.size()) - 1];
    device_seconds.push_back(step.device_seconds);
    best_seconds.push_back(step.best_seconds > 0 ? step.best_seconds : kInfinity);
  }
  if (runs.empty()) return {0, kInfinity};
  return {upper_median(std::move(device_seconds)), upper_median(std::move(best_seconds))};
}

Cost typical_cost(const Runs& runs, double seconds) {
  std::vector<double> trials, device_seconds;
  for (const std::vector<Step>& run : runs) {
    const Cost cost = cost_to_reach(run, seconds).value_or(Cost{kInfinity, kInfinity});
    trials.push_back(cost.trials);
    device_seconds.push_back(cost.device_seconds);
  }
  if (runs.empty()) return {kInfinity, kInfinity};
  return {upper_median(std::move(trials)), upper_median(std::move(device_seconds))};
}

std::optional<SameQuality> at_same_quality(const Runs& first, const Runs& second) {
  const double slower = std::max(typical_step(first, most_trials(first)).best_seconds,
                                 typical_step(second, most_trials(second)).best_seconds);
  if (!std::isfinite(slower)) return std::nullopt;
  SameQuality same{.seconds = slower * kNoise};
  same.first = typical_cost(first, same.seconds);
  same.second = typical_cost(second, same.seconds);
  same.ratio = {same.first.trials / same.second.trials,
                same.first.device_seconds / same.second.device_seconds};
  return same;
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace tf::replay
