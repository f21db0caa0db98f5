#pragma once
// Owns: when a trial has enough samples, on every kind of device. Does not know: how a sample is taken.

#include <algorithm>
#include <cstdint>

#include "base/statistics/race.h"
#include "compiler/runtime/clock.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

constexpr uint32_t kFewestSamples = 3;  // of a slow candidate

enum class SamplesEnd : uint8_t { kEnough, kSlower, kFailed };

// Takes samples until there are enough, or they show that the candidate is slower, or the time left until
// `until_ns` may not suffice for another sample and the last run. `run_ns` is the approximate time of a run.
// take(run_ns, &sample) returns false if the trial has ended.
template <typename TakeSample>
SamplesEnd take_samples(const Job& job, int64_t until_ns, double run_ns, Result* result, TakeSample take) {
  SlowerTest race(static_cast<double>(job.stop_if_slower_than_ns), job.noise);
  int64_t sampled_ns = 0;
  uint32_t count = 0;
  while (count < job.samples && !race.is_slower()) {
    SampleResult sample = {};
    if (!take(run_ns, &sample)) return SamplesEnd::kFailed;
    result->samples[count++] = sample;
    result->sample_count = count;
    run_ns = std::max(1.0, static_cast<double>(sample.total_ns) / sample.iterations);
    race.add(run_ns);
    sampled_ns += sample.total_ns;
    if (job.enough_ns > 0 && count >= kFewestSamples && sampled_ns >= job.enough_ns) break;
    const int64_t left_ns = until_ns - tf_monotonic_ns();
    if (static_cast<double>(left_ns) < 1.5 * (static_cast<double>(sample.total_ns) + run_ns)) break;
  }
  return race.is_slower() ? SamplesEnd::kSlower : SamplesEnd::kEnough;
}

}  // namespace tf::worker::sandbox
