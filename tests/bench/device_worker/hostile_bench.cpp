// What hostile candidates do to the honest ones that come after: the same kernel is measured before and after
// each, in turns with an honest one between. `hostile_percent` is how much slower it is after the hostile
// candidate (median), `honest_percent` after an honest one: what the machine does of itself. The first is to
// be at most `allowed_percent`: 3, or twice what the kernel differs around an honest one.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "device_agent/worker/worker.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/support/candidates/candidates.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::test::candidate;
using tf::test::Extents;
using tf::test::serialized;

constexpr Extents kExtents = {.m = 96, .n = 96, .k = 96};
// An honest kernel of an artifact that declares 64 GiB of outputs.
constexpr const char* kHuge = "declares_huge_outputs";
constexpr const char* kHostile[] = {kHuge,
                                    "segfaults",
                                    "aborts",
                                    "exits_as_if_done",
                                    "spins",
                                    "sleeps",
                                    "ignores_every_signal",
                                    "faults_for_ever",
                                    "floods_for_ever",
                                    "fills_the_disk",
                                    "opens_sockets",
                                    "allocates_without_end",
                                    "traces_others",
                                    "bombs_with_processes",
                                    "kills_everybody",
                                    "forges_fast_samples"};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Measured {
  farm::TrialResult result;
  double run_ns = 0;
};

class Slot {
 public:
  explicit Slot(tf::worker::Worker& worker) : worker_(worker) {}

  Measured run(const char* entry) {
    const bool huge = entry == kHuge;
    const std::string bytes = huge ? serialized(candidate("good", {.m = 1 << 17, .n = 1 << 17, .k = 1}))
                                   : serialized(candidate(entry, kExtents));
    const std::string& reference = huge ? none_ : reference_;
    farm::Trial trial = tf::test::trial_of(bytes, reference);
    trial.mutable_options()->set_samples(7);
    trial.mutable_options()->set_min_sample_ns(1'000'000);
    trial.mutable_limits()->set_run_timeout_ns(100'000'000);
    const auto result = worker_.run(trial, bytes, reference);
    if (!result.ok()) return {};
    std::vector<double> runs;
    for (const farm::Sample& sample : result->samples())
      runs.push_back(static_cast<double>(sample.total_ns()) / sample.iterations());
    return {*result, runs.empty() ? 0 : median(runs)};
  }

  // How much slower in percent the golden kernel is after the other than before it; NaN if it was not
  // measured.
  double slowdown_percent(const char* entry) {
    const Measured before = run("good");
    between_ = run(entry).result.outcome();
    const Measured after = run("good");
    const bool measured =
        before.result.outcome() == farm::OUTCOME_OK && after.result.outcome() == farm::OUTCOME_OK;
    return measured ? 100 * (after.run_ns / before.run_ns - 1) : std::nan("");
  }

  // How the candidate between the last two was called.
  farm::Outcome between() const { return between_; }

 private:
  tf::worker::Worker& worker_;
  farm::Outcome between_ = farm::OUTCOME_UNSPECIFIED;
  const std::string reference_ = serialized(candidate("reference", kExtents)), none_;
};

void BM_GoldenAfterHostile(benchmark::State& state) {
  const char* const hostile = kHostile[state.range(0)];
  auto worker = tf::worker::Worker::start({.sandbox = {.without = {}, .without_missing = true}, .cpus = {0}});
  if (!worker.ok()) return state.SkipWithError(worker.status().ToString().c_str());
  const tf::worker::CapabilitySet without = (*worker)->without_sandbox();
  if (without.contains(tf::worker::Capability::kSeccomp) &&
      without.contains(tf::worker::Capability::kPidNamespace))
    return state.SkipWithError("nothing here would keep it from killing whatever else this user runs");
  Slot slot(**worker);
  slot.run("good");  // the reference's answers are there
  std::vector<double> after_hostile, after_honest, spread;
  for (auto _ : state) {
    after_hostile.push_back(slot.slowdown_percent(hostile));
    state.SetLabel(std::string(hostile) + " " + farm::Outcome_Name(slot.between()));
    after_honest.push_back(slot.slowdown_percent("good"));
    spread.push_back(std::abs(after_honest.back()));
    if (std::isnan(after_hostile.back()) || std::isnan(after_honest.back()))
      return state.SkipWithError("the golden kernel was not measured");
  }
  state.counters["hostile_percent"] = median(after_hostile);
  state.counters["honest_percent"] = median(after_honest);
  state.counters["allowed_percent"] = std::max(3.0, 2 * median(spread));
}
BENCHMARK(BM_GoldenAfterHostile)
    ->DenseRange(0, std::size(kHostile) - 1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(9);

}  // namespace
