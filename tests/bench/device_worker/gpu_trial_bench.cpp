// How many trials a second one slot makes on an OpenCL device, with candidates that it has not seen: each is compiled.

#include <benchmark/benchmark.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device_agent/worker/worker.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/support/candidates/candidates.h"

namespace {

namespace farm = tunefarm::farm::v1;
namespace kernel = tunefarm::kernel::v1;
using tf::test::candidate;
using tf::test::serialized;

// y = x w, of 64 in each direction: an element a thread.
constexpr char kSimple[] = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void product(__global const float* x, __global const float* w, __global float* y) {
  const int m = get_group_id(1), n = get_local_id(0);
  float sum = 0;
  for (int k = 0; k < 64; ++k) sum += x[m * 64 + k] * w[k * 64 + n];
  y[m * 64 + n] = sum;
}
)";

// Of 256 in each direction: 64 x 64 a block, 4 x 4 a thread, operands in shared memory.
constexpr char kTiled[] = R"(
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void product(__global const float* x, __global const float* w, __global float* y) {
  __local float a[64 * 16], b[16 * 64];
  const int tx = get_local_id(0), ty = get_local_id(1), n0 = get_group_id(0) * 64, m0 = get_group_id(1) * 64;
  float sum[16];
  for (int i = 0; i < 16; ++i) sum[i] = 0;
  for (int k0 = 0; k0 < 256; k0 += 16) {
    for (int i = 0; i < 4; ++i) {
      const int e = ty * 16 + tx + i * 256;
      a[e] = x[(m0 + e / 16) * 256 + k0 + e % 16];
      b[e] = w[(k0 + e / 64) * 256 + n0 + e % 64];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i * 4 + j] += a[(ty * 4 + i) * 16 + k] * b[k * 64 + tx * 4 + j];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) y[(m0 + ty * 4 + i) * 256 + n0 + tx * 4 + j] = sum[i * 4 + j];
}
)";

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

struct Launched {
  const char* source;
  int64_t extent;     // m, n and k
  int columns, rows;  // of one block
  int threads_x, threads_y;
};

tf::test::Extents extents_of(const Launched& launched) {
  return {launched.extent, launched.extent, launched.extent};
}

std::string artifact_of(const Launched& launched, int number) {
  kernel::Artifact artifact = candidate("reference", extents_of(launched));
  kernel::Manifest& manifest = *artifact.mutable_manifest();
  manifest.set_target("opencl");
  manifest.clear_workspace_bytes();
  manifest.clear_workspace_per_thread_bytes();
  while (manifest.ports_size() > 3) manifest.mutable_ports()->RemoveLast();
  kernel::Launch& launch = *manifest.mutable_launches(0);
  launch.set_entry("product");
  for (const int64_t extent :
       {launched.extent / launched.columns, launched.extent / launched.rows, int64_t{1}})
    launch.add_grid(absl::StrCat(extent));
  for (const int extent : {launched.threads_x, launched.threads_y, 1}) launch.add_block(absl::StrCat(extent));
  artifact.mutable_blobs(0)->set_kind(kernel::BLOB_KIND_OPENCL_C);
  artifact.mutable_blobs(0)->set_content(
      absl::StrCat("// ", getpid(), " ", number, "\n#define NUMBER ", number, "\n", launched.source));
  return serialized(artifact);
}

// As the tuner asks: the last CPU measures; the others, if there are any, make ready what comes next.
void run_trials(benchmark::State& state, const Launched& launched, bool ahead = true) {
  std::vector<int> cpus = allowed_cpus(), measure = {cpus.back()};
  cpus.pop_back();
  auto worker = tf::worker::Worker::start({.device = "opencl:0",
                                           .sandbox = {.without = {}, .without_missing = true},
                                           .cpus = measure,
                                           .spare_cpus = ahead ? cpus : std::vector<int>()});
  if (!worker.ok()) return state.SkipWithError(worker.status().ToString().c_str());
  if (const auto peak = (*worker)->peak_gflops(); !peak.ok())
    return state.SkipWithError(peak.status().ToString().c_str());
  const std::string reference = serialized(candidate("reference", extents_of(launched)));
  std::atomic<int> number = 0, failed = 0;
  double kernel_ns = 0;
  const auto run_one = [&] {
    const std::string artifact = artifact_of(launched, ++number);
    farm::Trial trial = tf::test::trial_of(artifact, reference);
    farm::MeasureOptions& options = *trial.mutable_options();
    options.set_samples(8);
    options.set_min_sample_ns(1'000'000);
    options.set_enough_ns(25'000'000);
    options.set_warmup_ns(500'000);
    options.set_cache_mode(farm::CACHE_MODE_ROTATE);
    trial.mutable_limits()->set_memory_bytes(uint64_t{1} << 30);
    const auto result = (*worker)->run(trial, artifact, reference);
    if (!result.ok() || result->outcome() != farm::OUTCOME_OK || result->samples().empty()) {
      ++failed;
      return 0.0;
    }
    const farm::Sample& sample = result->samples(0);
    return static_cast<double>(sample.total_ns()) / sample.iterations();
  };
  kernel_ns = run_one();  // opens the devices, computes the reference
  constexpr int kTrials = 24;
  for (auto _ : state) {
    std::vector<std::thread> callers;
    std::atomic<int> left = kTrials;
    for (int i = 0; i < 3; ++i)
      callers.emplace_back([&] {
        while (left-- > 0) run_one();
      });
    for (std::thread& caller : callers) caller.join();
  }
  if (failed > 0) return state.SkipWithError("a trial was not ok");
  state.counters["trials"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kTrials), benchmark::Counter::kIsRate);
  state.counters["kernel_ms"] = kernel_ns / 1e6;
}

void BM_GpuTrialsOfASimpleKernel(benchmark::State& state) {
  run_trials(state, {kSimple, 64, 64, 1, 64, 1});
}
BENCHMARK(BM_GpuTrialsOfASimpleKernel)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_GpuTrialsOfATiledKernel(benchmark::State& state) {
  run_trials(state, {kTiled, 256, 64, 64, 16, 16});
}
BENCHMARK(BM_GpuTrialsOfATiledKernel)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

// One after another.
void BM_GpuTrialsOfATiledKernelInTurn(benchmark::State& state) {
  run_trials(state, {kTiled, 256, 64, 64, 16, 16}, /*ahead=*/false);
}
BENCHMARK(BM_GpuTrialsOfATiledKernelInTurn)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
