// How many trials a second one slot makes on an OpenCL device, with candidates that it has not seen: each is compiled. cpu_ms is
// what a trial costs of processor time, whatever else runs on this machine.

#include <benchmark/benchmark.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device_agent/worker/worker.h"
#include "proto/farm/v1/trial.pb.h"
#include "tests/support/candidates/candidates.h"

namespace {

namespace farm = tunefarm::farm::v1;
using tf::test::candidate;
using tf::test::serialized;

// As our compiler prints it.
constexpr char kMax[] = "float max_of(float a, float b) { return a > b || a != a ? a : b; }\n";

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

// 3 x 3 over 16 images of 34 x 34, 32 results of 32 x 32: 8 x 8 results of 4 channels a block of 64.
constexpr char kConvolution[] = R"(
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void product(__global const float* x, __global const float* w, __global float* y) {
  __local float tile[10 * 10], weights[4 * 9];
  const int tx = get_local_id(0), ty = get_local_id(1), t = ty * 8 + tx;
  const int x0 = get_group_id(0) % 4 * 8, y0 = get_group_id(0) / 4 * 8, c0 = get_group_id(1) * 4;
  float sum[4] = {0, 0, 0, 0};
  for (int c = 0; c < 16; ++c) {
    for (int e = t; e < 100; e += 64) tile[e] = x[c * 34 * 34 + (y0 + e / 10) * 34 + x0 + e % 10];
    if (t < 36) weights[t] = w[((c0 + t / 9) * 16 + c) * 9 + t % 9];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int o = 0; o < 4; ++o) sum[o] += tile[(ty + i) * 10 + tx + j] * weights[o * 9 + i * 3 + j];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int o = 0; o < 4; ++o) y[(c0 + o) * 1024 + (y0 + ty) * 32 + x0 + tx] = max_of(sum[o], 0.0f);
}
)";

// Softmax of rows of 256, a row a block of 64.
constexpr char kRows[] = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void product(__global const float* x, __global const float* w, __global float* y) {
  __local float parts[64];
  const int t = get_local_id(0), row = get_group_id(0) * 256;
  float most = x[row + t];
  for (int i = 1; i < 4; ++i) most = max_of(most, x[row + i * 64 + t]);
  parts[t] = most;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 32; step > 0; step /= 2) {
    if (t < step) parts[t] = max_of(parts[t], parts[t + step]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  most = parts[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float kept[4], sum = 0;
  for (int i = 0; i < 4; ++i) sum += kept[i] = exp(x[row + i * 64 + t] - most);
  parts[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 32; step > 0; step /= 2) {
    if (t < step) parts[t] += parts[t + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 4; ++i) y[row + i * 64 + t] = kept[i] / parts[0];
}
)";

// That this process's descendants have worked, in ms.
double descendants_cpu_ms() {
  struct Process {
    long parent = 0;
    double ticks = 0;
  };
  std::map<long, Process> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    std::ifstream file(entry.path() / "stat");
    std::string stat;
    if (name.find_first_not_of("0123456789") != std::string::npos || !std::getline(file, stat)) continue;
    std::istringstream rest(stat.substr(stat.rfind(')') + 1));
    std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
    Process& process = all[std::stol(name)];
    process.parent = std::stol(fields[1]);
    for (int field = 11; field < 15; ++field) process.ticks += std::stod(fields[static_cast<size_t>(field)]);
  }
  double ticks = 0;
  for (const auto& [pid, process] : all) {
    long ancestor = process.parent;
    while (ancestor > 1 && ancestor != getpid()) ancestor = all[ancestor].parent;
    if (ancestor == getpid()) ticks += process.ticks;
  }
  return ticks * 1000 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

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
  tf::test::Extents extents;  // of x[m,k], w[k,n], y[m,n]
  std::array<int, 2> grid, block;
  bool is_product = true;  // whose answers are checked
};

std::string artifact_of(const Launched& launched, int number) {
  return serialized(tf::test::device_candidate(
      {.target = "opencl",
       .kind = tunefarm::kernel::v1::BLOB_KIND_OPENCL_C,
       .code = absl::StrCat("#define NUMBER ", getpid(), number, "\n", kMax, launched.source),
       .grid = launched.grid,
       .block = launched.block,
       .extents = launched.extents}));
}

enum class Cpus {
  kOfTuner,  // the last one measures; the others, if there are any, make ready what comes next
  kOfAgent,  // a slot has all
};

void run_trials(benchmark::State& state, const Launched& launched, Cpus whose = Cpus::kOfAgent,
                bool ahead = true) {
  std::vector<int> cpus = allowed_cpus(), measure = cpus;
  if (whose == Cpus::kOfTuner) measure = {cpus.back()};
  cpus.pop_back();
  if (whose == Cpus::kOfAgent) cpus.clear();
  auto worker = tf::worker::Worker::start({.device = "opencl:0",
                                           .sandbox = {.without = {}, .without_missing = true},
                                           .cpus = measure,
                                           .spare_cpus = cpus});
  if (!worker.ok()) return state.SkipWithError(worker.status().ToString().c_str());
  if (const auto peak = (*worker)->peak_gflops(); !peak.ok())
    return state.SkipWithError(peak.status().ToString().c_str());
  const std::string reference =
      launched.is_product ? serialized(candidate("reference", launched.extents)) : "";
  std::atomic<int> number = 0;
  std::mutex failure_mutex;
  std::string failure;
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
      const std::lock_guard lock(failure_mutex);
      failure = result.ok() ? farm::Outcome_Name(result->outcome()) + ": " + result->detail()
                            : result.status().ToString();
      return 0.0;
    }
    const farm::Sample& sample = result->samples(0);
    return static_cast<double>(sample.total_ns()) / sample.iterations();
  };
  kernel_ns = run_one();  // opens the devices, computes the reference
  constexpr int kTrials = 24;
  const double before_ms = descendants_cpu_ms();
  for (auto _ : state) {
    std::vector<std::thread> callers;
    std::atomic<int> left = kTrials;
    for (size_t i = 0; i < (ahead ? (*worker)->trials_at_once() : 1); ++i)
      callers.emplace_back([&] {
        while (left-- > 0) run_one();
      });
    for (std::thread& caller : callers) caller.join();
  }
  if (!failure.empty()) return state.SkipWithError(failure.c_str());
  state.counters["trials"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kTrials), benchmark::Counter::kIsRate);
  state.counters["kernel_ms"] = kernel_ns / 1e6;
  state.counters["cpu_ms"] =
      (descendants_cpu_ms() - before_ms) / static_cast<double>(state.iterations() * kTrials);
}

constexpr Launched kSimpleLaunch = {kSimple, {64, 64, 64}, {1, 64}, {64, 1}},
                   kTiledLaunch = {kTiled, {256, 256, 256}, {4, 4}, {16, 16}},
                   kConvolutionLaunch = {kConvolution, {256, 128, 80}, {16, 8}, {8, 8}, false},
                   kRowsLaunch = {kRows, {256, 256, 256}, {256, 1}, {64, 1}, false};

void BM_GpuTrialsOfASimpleKernel(benchmark::State& state) {
  run_trials(state, kSimpleLaunch);
}
BENCHMARK(BM_GpuTrialsOfASimpleKernel)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_GpuTrialsOfATiledProduct(benchmark::State& state) {
  run_trials(state, kTiledLaunch);
}
BENCHMARK(BM_GpuTrialsOfATiledProduct)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_GpuTrialsOfATiledProductOneByOne(benchmark::State& state) {
  run_trials(state, kTiledLaunch, Cpus::kOfAgent, /*ahead=*/false);
}
BENCHMARK(BM_GpuTrialsOfATiledProductOneByOne)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_GpuTrialsOfATiledProductAsTuned(benchmark::State& state) {
  run_trials(state, kTiledLaunch, Cpus::kOfTuner);
}
BENCHMARK(BM_GpuTrialsOfATiledProductAsTuned)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_GpuTrialsOfAConvolution(benchmark::State& state) {
  run_trials(state, kConvolutionLaunch);
}
BENCHMARK(BM_GpuTrialsOfAConvolution)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_GpuTrialsOfRows(benchmark::State& state) {
  run_trials(state, kRowsLaunch);
}
BENCHMARK(BM_GpuTrialsOfRows)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
