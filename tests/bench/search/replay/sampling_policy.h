#pragma once
// Owns: what a candidate costs on the device, and what the strategy learns of it, under a policy of sampling:
// computed from recorded samples. Does not know: strategies.

#include <optional>
#include <string_view>

#include "base/statistics/race.h"
#include "tests/bench/search/replay/pool.h"
#include "tuner/session/loop/record_times.h"

namespace tf::replay {

enum class SamplingPolicy : uint8_t {
  // One run to warm up, then runs for at least 100 ms, whatever the candidate is: what Ansor asks of its
  // devices (repeat 1, min_repeat_ms 100).
  kFixed,
  // Samples, in the order recorded, until they show that the candidate is slower than the incumbent
  // (base/statistics/race.h), or there are as many as the session asks of its devices
  // (tuner/session/loop/pipeline.h).
  kRacing,
};
std::string_view policy_name(SamplingPolicy policy);

struct Spent {
  double device_seconds = 0;  // the trial's whole time on the device
  session::Time told;         // of one run, as a session tells its strategy; no seconds: it failed
  Estimate seen;              // by the samples that were taken
};

// What a candidate races against.
struct Best {
  double seconds = 0;  // 0: none yet
  double noise = 0;
};

// Loading a candidate, making its inputs and checking its answer: the same under every policy. A candidate
// that did not compile costs the device nothing.
inline constexpr double kOverheadSeconds = 0.008;

// Of one that ran, by this replicate's samples, without the overhead. `best` is what was known to be the best
// when the trial started.
Spent sample(const Replicate& replicate, SamplingPolicy policy, const Best& best);
// The same for a trial of a final re-measurement, where nothing is stopped early.
Spent sample_in_full(const Replicate& replicate);
// The whole trial of a candidate, by its first replicate.
Spent measure(const Entry& entry, SamplingPolicy policy, const Best& best);

}  // namespace tf::replay
