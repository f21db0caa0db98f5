// What a parallel loop costs beside its iterations: a fork and a join of an empty task, one iteration a
// thread, each timed by itself; and what the machine's caches allow at best, a flag sent to another thread
// and back. On a virtual machine that figure tells whether both CPUs share a cache at the moment.
//
//   build/release/bin/runtime_bench [--benchmark_format=json]

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "compiler/runtime/thread_pool.h"

namespace tf {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Destroy {
  void operator()(tf_runtime* runtime) const { tf_runtime_destroy(runtime); }
};

void report(benchmark::State& state, std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  state.counters["median_ns"] = samples[samples.size() / 2] * 1e9;
  state.counters["p99_ns"] = samples[samples.size() * 99 / 100] * 1e9;
}

// A kernel without threads between two that have them.
void compute_for(std::chrono::microseconds gap) {
  for (const Clock::time_point start = Clock::now(); Clock::now() - start < gap;) {
  }
}

int32_t nothing(void*, int64_t, int32_t) {
  return 0;
}

// An iteration that ends when all have begun, so that every thread must take one.
struct Meeting {
  int32_t expected;
  std::atomic<int32_t> arrived = 0;
};
int32_t meet(void* closure, int64_t, int32_t) {
  auto* meeting = static_cast<Meeting*>(closure);
  meeting->arrived.fetch_add(1);
  while (meeting->arrived.load() < meeting->expected) {
  }
  return 0;
}

// Arguments: threads, microseconds that the caller computes alone before each fork.
void time_loops(benchmark::State& state, tf_parallel_task task) {
  const auto threads = static_cast<int32_t>(state.range(0));
  const std::chrono::microseconds gap(state.range(1));
  const std::unique_ptr<tf_runtime, Destroy> runtime(tf_runtime_create(threads));
  std::vector<double> samples;
  for (auto _ : state) {
    Meeting meeting{threads};
    compute_for(gap);
    const Clock::time_point start = Clock::now();
    runtime->parallel_for(runtime.get(), threads, task, &meeting);
    samples.push_back(seconds_since(start));
    state.SetIterationTime(samples.back());
  }
  report(state, std::move(samples));
}

// Whoever is there first may run all of it: what a loop costs that is too short to share.
void BM_EmptyLoop(benchmark::State& state) {
  time_loops(state, nothing);
}
// The number of forks is fixed: time that is not measured passes between them.
BENCHMARK(BM_EmptyLoop)
    ->ArgNames({"threads", "gap_us"})
    ->ArgsProduct({{1, 2, 4}, {0, 10, 1000}})
    ->Iterations(3000)
    ->UseManualTime();

// Every thread takes part: fork and join in full.
void BM_ForkJoin(benchmark::State& state) {
  time_loops(state, meet);
}
BENCHMARK(BM_ForkJoin)
    ->ArgNames({"threads", "gap_us"})
    ->ArgsProduct({{1, 2}, {0, 10, 100, 1000}})
    ->Iterations(3000)
    ->UseManualTime();

void BM_FlagThereAndBack(benchmark::State& state) {
  alignas(64) std::atomic<int64_t> sent = 0;
  alignas(64) std::atomic<int64_t> returned = 0;
  std::thread other([&] {
    for (int64_t expected = 1;; ++expected) {
      int64_t seen;
      while ((seen = sent.load()) != expected && seen >= 0) {
      }
      if (seen < 0) return;
      returned.store(expected);
    }
  });
  std::vector<double> samples;
  constexpr int kTrips = 100;  // a sample, so that reading the clock does not count
  int64_t trip = 0;
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kTrips; ++i) {
      sent.store(++trip);
      while (returned.load() != trip) {
      }
    }
    samples.push_back(seconds_since(start) / kTrips);
    state.SetIterationTime(samples.back());
  }
  sent.store(-1);
  other.join();
  report(state, std::move(samples));
}
BENCHMARK(BM_FlagThereAndBack)->Iterations(3000)->UseManualTime();

}  // namespace
}  // namespace tf

BENCHMARK_MAIN();
