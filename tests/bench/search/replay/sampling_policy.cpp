#include "tests/bench/search/replay/sampling_policy.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "tuner/session/loop/pipeline.h"

namespace tf::replay {
namespace {

// Whole runs that fill at least `least` seconds.
double filled(double least, double run_seconds) {
  return std::ceil(std::max(1.0, least / run_seconds)) * run_seconds;
}

Spent repeat(const Replicate& replicate) {
  constexpr double kRepeatSeconds =
      static_cast<double>(session::sampling_of(session::Priority::kRepeat).min_sample_ns) / 1e9;
  static_assert(kRepeatSeconds == 0.1);  // bit for bit: recorded runs depend on it
  return {.device_seconds = replicate.seconds + filled(kRepeatSeconds, replicate.seconds),
          .told = {.seconds = replicate.seconds}};
}

// As the worker's harness samples until it has what the session asks of it.
Spent take_samples(const Replicate& replicate, const session::Sampling& sampling, const Best& best) {
  constexpr size_t kFewest = 3;
  const double sample_seconds = static_cast<double>(sampling.min_sample_ns) / 1e9,
               enough_seconds = static_cast<double>(sampling.enough_ns) / 1e9,
               warm_up_seconds = static_cast<double>(sampling.warmup_ns) / 1e9;
  double sampled_seconds = 0;
  std::vector<double> runs_ns;
  SlowerTest test(best.seconds * 1e9, best.noise);
  while (runs_ns.size() < sampling.samples && !test.is_slower()) {
    // What was recorded is less than racing may ask for: more samples would be like these.
    const double sample = replicate.samples[runs_ns.size() % replicate.samples.size()];
    runs_ns.push_back(sample * 1e9);
    test.add(runs_ns.back());
    sampled_seconds += filled(sample_seconds, sample);
    if (runs_ns.size() >= kFewest && sampled_seconds >= enough_seconds) break;
  }
  return {.device_seconds = filled(warm_up_seconds, replicate.samples.front()) + sampled_seconds,
          .told = session::time_of(runs_ns, test.is_slower()),
          .seen = estimate(runs_ns)};
}

}  // namespace

std::string_view policy_name(SamplingPolicy policy) {
  return policy == SamplingPolicy::kFixed ? "fixed" : "racing";
}

Spent sample(const Replicate& replicate, SamplingPolicy policy, const Best& best) {
  TF_CHECK(!replicate.samples.empty());
  return policy == SamplingPolicy::kFixed
             ? repeat(replicate)
             : take_samples(replicate, session::sampling_of(session::Priority::kRace), best);
}

Spent sample_in_full(const Replicate& replicate) {
  return take_samples(replicate, session::sampling_of(session::Priority::kInFull), {});
}

Spent measure(const Entry& entry, SamplingPolicy policy, const Best& best) {
  if (!entry.ran) return {};
  Spent spent = entry.replicates.empty() ? Spent{} : sample(entry.replicates.front(), policy, best);
  spent.device_seconds += kOverheadSeconds;
  return spent;
}

}  // namespace tf::replay
