#include "tests/bench/search/replay/sampling_policy.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

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

// What session/pipeline.cpp asks of a runner, and how the worker's harness goes on until it has it.
Spent race(const Entry& entry, const Best& best) {
  constexpr size_t kSamples = 12, kFewest = 3;
  constexpr double kSampleSeconds = 0.001, kEnoughSeconds = 0.025, kWarmUpSeconds = 0.0005;
  double sampled_seconds = 0;
  std::vector<double> runs_ns;
  SlowerTest test(best.seconds * 1e9, best.noise);
  while (runs_ns.size() < kSamples && !test.is_slower()) {
    // A candidate that was hopeless when it was recorded has fewer samples than racing may ask for.
    const double sample = entry.samples[runs_ns.size() % entry.samples.size()];
    runs_ns.push_back(sample * 1e9);
    test.add(runs_ns.back());
    sampled_seconds += filled(kSampleSeconds, sample);
    if (runs_ns.size() >= kFewest && sampled_seconds >= kEnoughSeconds) break;
  }
  const Estimate seen = estimate(runs_ns);
  return {.device_seconds = filled(kWarmUpSeconds, entry.samples.front()) + sampled_seconds,
          .seconds = seen.median_ns * 1e-9,
          .seen = seen,
          .stopped_early = test.is_slower()};
}

}  // namespace

std::string_view policy_name(SamplingPolicy policy) {
  return policy == SamplingPolicy::kFixed ? "fixed" : "racing";
}

Spent measure(const Entry& entry, SamplingPolicy policy, const Best& best) {
  if (!entry.ran) return {};
  Spent spent;
  if (entry.seconds > 0) {
    TF_CHECK(!entry.samples.empty());
    spent = policy == SamplingPolicy::kFixed ? measure_fixed(entry) : race(entry, best);
  }
  spent.device_seconds += kOverheadSeconds;
  return spent;
}

}  // namespace tf::replay
