#include "tests/bench/search/replay/sampling_policy.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "tests/bench/search/replay/median.h"

namespace tf::replay {
namespace {

// Whole runs that fill at least `least` seconds.
double filled(double least, double run_seconds) {
  return std::ceil(std::max(1.0, least / run_seconds)) * run_seconds;
}

Spent measure_fixed(const Entry& entry) {
  constexpr double kRepeatSeconds = 0.1;
  return {.device_seconds = entry.seconds + filled(kRepeatSeconds, entry.seconds), .seconds = entry.seconds};
}

// The worker's rule (device_agent/worker/sandbox): slower by a fifth after one sample, by a twentieth after
// two.
Spent race(const Entry& entry, double incumbent_seconds) {
  constexpr size_t kSamples = 5;
  constexpr double kSampleSeconds = 0.005, kWarmUpSeconds = 0.001, kHopeless = 1.6;
  Spent spent{.device_seconds = filled(kWarmUpSeconds, entry.samples.front())};
  std::vector<double> drawn;
  while (drawn.size() < kSamples && !spent.stopped_early) {
    // A candidate that was hopeless when it was recorded has fewer samples than racing may ask for.
    const double sample = entry.samples[drawn.size() % entry.samples.size()];
    drawn.push_back(sample);
    spent.device_seconds += filled(kSampleSeconds, sample);
    const double limit = incumbent_seconds * kHopeless * (drawn.size() == 1 ? 1.2 : 1.05);
    spent.stopped_early = incumbent_seconds > 0 &&
                          drawn.size()<kSamples&& * std::min_element(drawn.begin(), drawn.end())> limit;
  }
  spent.seconds = upper_median(std::move(drawn));
  return spent;
}

}  // namespace

std::string_view policy_name(SamplingPolicy policy) {
  return policy == SamplingPolicy::kFixed ? "fixed" : "racing";
}

Spent measure(const Entry& entry, SamplingPolicy policy, double incumbent_seconds) {
  if (!entry.ran) return {};
  Spent spent;
  if (entry.seconds > 0) {
    TF_CHECK(!entry.samples.empty());
    spent = policy == SamplingPolicy::kFixed ? measure_fixed(entry) : race(entry, incumbent_seconds);
  }
  spent.device_seconds += kOverheadSeconds;
  return spent;
}

}  // namespace tf::replay
