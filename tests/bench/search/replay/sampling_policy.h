#pragma once
// Owns: what a candidate costs on the device, and what the strategy learns of it, under a policy of sampling:
// computed from recorded samples. Does not know: strategies.

#include <optional>
#include <string_view>

#include "tests/bench/search/replay/pool.h"

namespace tf::replay {

enum class SamplingPolicy : uint8_t {
  // One run to warm up, then runs for at least 100 ms, whatever the candidate is: what Ansor asks of its
  // devices
  // (repeat 1, min_repeat_ms 100).
  kFixed,
  // Samples of at least 5 ms, in the order recorded, until there are five or the candidate is clearly slower
  // than
  // 1.6 times the incumbent: what the session asks of its runners, and the worker's own rule of stopping.
  kRacing,
};
std::string_view policy_name(SamplingPolicy policy);

struct Spent {
  double device_seconds = 0;  // the trial's whole time on the device
  double seconds = 0;         // of one run, as the strategy sees it; 0: it failed
  bool stopped_early = false;
};

// Loading a candidate, making its inputs and checking its answer: the same under every policy. A candidate
// that did not compile costs the device nothing.
inline constexpr double kOverheadSeconds = 0.008;

// `incumbent_seconds` is the best time that was known when the trial started; 0: none.
Spent measure(const Entry& entry, SamplingPolicy policy, double incumbent_seconds);

}  // namespace tf::replay
