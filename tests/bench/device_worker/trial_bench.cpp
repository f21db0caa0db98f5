// What a trial costs beside the candidate's own time, and how many trials a second one slot makes.

#include <benchmark/benchmark.h>

#include "device_agent/worker/worker.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/support/candidates/candidates.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::test::candidate;
using tf::test::Extents;
using tf::test::serialized;

// Runs the same trial again and again. `sampled_share`: of the wall time, how much lies within timed samples.
void run_trials(benchmark::State& state, Extents extents, const farm::MeasureOptions& options,
                tf::worker::CapabilitySet without = {}) {
  auto worker = tf::worker::Worker::start({.sandbox = {.without = without, .without_missing = true}});
  if (!worker.ok()) return state.SkipWithError(worker.status().ToString().c_str());
  const std::string good = serialized(candidate("good", extents));
  const std::string reference = serialized(candidate("reference", extents));
  farm::Trial trial = tf::test::trial_of(good, reference);
  *trial.mutable_options() = options;
  if (auto first = (*worker)->run(trial, good, reference); !first.ok()) {
    return state.SkipWithError(first.status().ToString().c_str());
  }
  double sampled_s = 0;
  for (auto _ : state) {
    const auto result = (*worker)->run(trial, good, reference);
    if (!result.ok() || result->outcome() != farm::OUTCOME_OK)
      return state.SkipWithError("the trial was not ok");
    for (const farm::Sample& sample : result->samples())
      sampled_s += static_cast<double>(sample.total_ns()) * 1e-9;
  }
  state.counters["trials"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["sampled_share"] = benchmark::Counter(sampled_s, benchmark::Counter::kIsRate);
}

farm::MeasureOptions options(uint32_t samples, int64_t min_sample_ns, int64_t warmup_ns) {
  farm::MeasureOptions made;
  made.set_samples(samples);
  made.set_min_sample_ns(min_sample_ns);
  made.set_warmup_ns(warmup_ns);
  made.set_cache_mode(farm::CACHE_MODE_ROTATE);
  return made;
}

// One run of next to nothing: all of its time is overhead.
void BM_TrialOverhead(benchmark::State& state) {
  run_trials(state, {8, 8, 8}, options(1, 0, 0));
}
BENCHMARK(BM_TrialOverhead)->UseRealTime()->Unit(benchmark::kMillisecond);

// The same without namespaces, control group, seccomp and Landlock: what these cost is the difference.
void BM_TrialOverheadUnconfined(benchmark::State& state) {
  run_trials(state, {8, 8, 8}, options(1, 0, 0), tf::worker::all_capabilities());
}
BENCHMARK(BM_TrialOverheadUnconfined)->UseRealTime()->Unit(benchmark::kMillisecond);

// With 4 MB of answers, whose pages are most of the cost: a control group counts each.
void BM_TrialOverheadOfLargeAnswers(benchmark::State& state) {
  run_trials(state, {1024, 1024, 1}, options(1, 0, 0));
}
BENCHMARK(BM_TrialOverheadOfLargeAnswers)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_TrialOverheadOfLargeAnswersUnconfined(benchmark::State& state) {
  run_trials(state, {1024, 1024, 1}, options(1, 0, 0), tf::worker::all_capabilities());
}
BENCHMARK(BM_TrialOverheadOfLargeAnswersUnconfined)->UseRealTime()->Unit(benchmark::kMillisecond);

// What a lease costs before its first trial.
void BM_RenewedSandbox(benchmark::State& state) {
  auto worker = tf::worker::Worker::start({.sandbox = {.without = {}, .without_missing = true}});
  if (!worker.ok()) return state.SkipWithError(worker.status().ToString().c_str());
  for (auto _ : state) {
    if (const absl::Status renewed = (*worker)->renew_sandbox(); !renewed.ok())
      return state.SkipWithError(renewed.ToString().c_str());
  }
}
BENCHMARK(BM_RenewedSandbox)->UseRealTime()->Unit(benchmark::kMillisecond);

// A kernel of about 1 ms, one run a sample.
void BM_TrialOfAMillisecondKernel(benchmark::State& state) {
  run_trials(state, {192, 192, 48}, options(5, 0, 0));
}
BENCHMARK(BM_TrialOfAMillisecondKernel)->UseRealTime()->Unit(benchmark::kMillisecond);

// As the tuner measures: 5 samples of 5 ms.
void BM_TrialAsTuned(benchmark::State& state) {
  run_trials(state, {192, 192, 48}, options(5, 5'000'000, 1'000'000));
}
BENCHMARK(BM_TrialAsTuned)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
