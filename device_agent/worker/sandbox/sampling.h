#pragma once
// Owns: when a trial has samples enough: the same on every kind of device. Does not know: how one is taken.

#include <algorithm>
#include <cstdint>

#include "base/statistics/race.h"
#include "compiler/runtime/clock.h"
#include "device_agent/worker/sandbox/job.h"

namespace tf::worker::sandbox {

constexpr uint32_t kFewestSamples = 3;  // of a candidate that takes long

enum class SamplesEnd : uint8_t { kEnough, kSlower, kFailed };

// Samples until there are enough, they show that it is slower, or the clock comes so near to `until_ns` that another and a last
// run may not fit. `run_ns` is about how long a run takes; take(run_ns, &sample) is false where the trial has ended.
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
