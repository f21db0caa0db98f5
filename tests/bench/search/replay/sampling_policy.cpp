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

Spent repeat(const Visit& visit) {
  constexpr double kRepeatSeconds = 0.1;
  return {.device_seconds = visit.seconds + filled(kRepeatSeconds, visit.seconds), .seconds = visit.seconds};
}

// What session/pipeline.cpp asks of a runner, and how the worker's harness goes on until it has it.
Spent race(const Visit& visit, const Best& best) {
  constexpr size_t kSamples = 12, kFewest = 3;
  constexpr double kSampleSeconds = 0.001, kEnoughSeconds = 0.025, kWarmUpSeconds = 0.0005;
  double sampled_seconds = 0;
  std::vector<double> runs_ns;
  SlowerTest test(best.seconds * 1e9, best.noise);
  while (runs_ns.size() < kSamples && !test.is_slower()) {
    // What was recorded is less than racing may ask for: more samples would be like these.
    const double sample = visit.samples[runs_ns.size() % visit.samples.size()];
    runs_ns.push_back(sample * 1e9);
    test.add(runs_ns.back());
    sampled_seconds += filled(kSampleSeconds, sample);
    if (runs_ns.size() >= kFewest && sampled_seconds >= kEnoughSeconds) break;
  }
  const Estimate seen = estimate(runs_ns);
  return {.device_seconds = filled(kWarmUpSeconds, visit.samples.front()) + sampled_seconds,
          .seconds = seen.median_ns * 1e-9,
          .seen = seen,
          .stopped_early = test.is_slower()};
}

}  // namespace

std::string_view policy_name(SamplingPolicy policy) {
  return policy == SamplingPolicy::kFixed ? "fixed" : "racing";
}

Spent sample(const Visit& visit, SamplingPolicy policy, const Best& best) {
  TF_CHECK(!visit.samples.empty());
  return policy == SamplingPolicy::kFixed ? repeat(visit) : race(visit, best);
}

Spent measure(const Entry& entry, SamplingPolicy policy, const Best& best) {
  if (!entry.ran) return {};
  Spent spent = entry.visits.empty() ? Spent{} : sample(entry.visits.front(), policy, best);
  spent.device_seconds += kOverheadSeconds;
  return spent;
}

}  // namespace tf::replay
