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

size_t most_trials(const Runs& runs) {
  size_t most = 0;
  for (const std::vector<Step>& run : runs) most = std::max(most, run.size());
  return most;
}

Step typical_step(const Runs& runs, size_t trials) {
  std::vector<double> device_seconds, best_seconds, finals_trials;
  for (const std::vector<Step>& run : runs) {
    const Step step = run.empty() || trials == 0 ? Step{} : run[std::min(trials, run.size()) - 1];
    device_seconds.push_back(step.device_seconds);
    best_seconds.push_back(step.best_seconds > 0 ? step.best_seconds : kInfinity);
    finals_trials.push_back(step.finals_trials);
  }
  if (runs.empty()) return {.best_seconds = kInfinity};
  return {upper_median(std::move(device_seconds)), upper_median(std::move(best_seconds)),
          upper_median(std::move(finals_trials))};
}

std::optional<Cost> cost_to_reach(const Runs& runs, double seconds) {
  size_t trials = most_trials(runs);
  if (trials == 0 || typical_step(runs, trials).best_seconds > seconds) return std::nullopt;
  while (trials > 1 && typical_step(runs, trials - 1).best_seconds <= seconds) --trials;
  const Step step = typical_step(runs, trials);
  return Cost{static_cast<double>(trials) + step.finals_trials, step.device_seconds};
}

std::optional<SameQuality> at_same_quality(const Runs& first, const Runs& second) {
  const double slower = std::max(typical_step(first, most_trials(first)).best_seconds,
                                 typical_step(second, most_trials(second)).best_seconds);
  if (!std::isfinite(slower)) return std::nullopt;
  SameQuality same{.seconds = slower * kNoise};
  same.first = cost_to_reach(first, same.seconds).value();
  same.second = cost_to_reach(second, same.seconds).value();
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
