// What the farm costs beside the trial: trials a second through a real tracker and a real agent, each with an
// artifact of its own, and the share of wall time that lies within timed samples. Threads: callers that keep
// trials under way.

#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/check.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/trial.pb.h"
#include "proto/kernel/v1/kernel.pb.h"
#include "tests/farm/harness.h"
#include "tests/support/candidates/candidates.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::farm_test::Process;
using tf::farm_test::program;
using tf::measure::FarmRunner;

// One tracker, one agent, one lease, for the whole program.
class Farm {
 public:
  explicit Farm(std::vector<std::string> agent) {
    for (std::string& argument : agent) {
      if (argument == "TRACKER") argument = endpoint_.text();
      if (argument == "STATE") argument = dir_.path() + "/agent";
    }
    agent_ = std::make_unique<Process>(agent, dir_.path() + "/output");
    for (int i = 0; i < 500 && !runner_; ++i) {
      auto runner =
          FarmRunner::connect({.tracker = endpoint_, .device_key = "box", .first_wait = absl::Seconds(20)});
      if (runner.ok()) runner_ = *std::move(runner);
      if (!runner_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    TF_CHECK(runner_ != nullptr) << "the farm did not come up";
  }

  FarmRunner& runner() { return *runner_; }

 private:
  const tf::TemporaryFolder dir_ = *tf::TemporaryFolder::make();
  const tf::rpc::Endpoint endpoint_ = tf::farm_test::free_endpoint();
  Process tracker_{{program("tracker"), "serve", "--listen", endpoint_.text(), "--state",
                    dir_.path() + "/tracker.db", "--log-level", "warning"},
                   dir_.path() + "/output"};
  std::unique_ptr<Process> agent_;
  std::unique_ptr<FarmRunner> runner_;
};

void report(benchmark::State& state, double sampled_s) {
  state.counters["trials"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["sampled_share"] = benchmark::Counter(sampled_s, benchmark::Counter::kIsRate);
}

// The agent answers at once: all of the time is the farm's.
void BM_FarmOverhead(benchmark::State& state) {
  static Farm made({program("farm_test_agent"), "TRACKER", "box", "STATE", "0", ""});
  static std::atomic<int> next = 0;
  const farm::Trial trial;
  for (auto _ : state) {
    const std::string candidate = std::string(20'000, 'c') + std::to_string(next++);
    const auto result = made.runner().run(tf::farm_test::request(trial, candidate));
    if (!result.ok()) return state.SkipWithError(result.status().ToString().c_str());
    made.runner().acknowledge(*result);
  }
  report(state, 0);
}
BENCHMARK(BM_FarmOverhead)->ThreadRange(1, 4)->UseRealTime()->Unit(benchmark::kMillisecond);

// A kernel of about 1 ms as the tuner measures it: 5 samples of 5 ms, in the sandbox.
void BM_FarmTrialAsTuned(benchmark::State& state) {
  static Farm made({program("device_agent"), "--tracker", "TRACKER", "--key", "box", "--cpus", "0",
                    "--state-dir", "STATE", "--without-sandbox", "missing"});
  static std::atomic<int> next = 0;
  const tf::test::Extents extents{192, 192, 48};
  tunefarm::kernel::v1::Artifact artifact = tf::test::candidate("good", extents);
  const std::string reference = tf::test::serialized(tf::test::candidate("reference", extents));
  double sampled_s = 0;
  for (auto _ : state) {
    artifact.mutable_manifest()->set_bytes(1e6 + next++);  // an artifact of its own
    const std::string candidate = tf::test::serialized(artifact);
    farm::Trial trial = tf::test::trial_of(candidate, reference);
    trial.mutable_options()->set_samples(5);
    trial.mutable_options()->set_min_sample_ns(5'000'000);
    trial.mutable_options()->set_warmup_ns(1'000'000);
    const auto result = made.runner().run(tf::farm_test::request(trial, candidate, reference));
    if (!result.ok()) return state.SkipWithError(result.status().ToString().c_str());
    made.runner().acknowledge(*result);
    for (const farm::Sample& sample : result->samples())
      sampled_s += static_cast<double>(sample.total_ns()) * 1e-9;
  }
  report(state, sampled_s);
}
BENCHMARK(BM_FarmTrialAsTuned)->ThreadRange(1, 4)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
