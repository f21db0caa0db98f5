#include "device_agent/worker/gpu/peak.h"

#include <algorithm>
#include <cstring>

namespace tf::worker::gpu_worker {

// Chains enough that none waits for its last result, and vectors, which a CPU's driver makes instructions of.
const char kOpenClPeak[] = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void peak(__global float* x) {
  const float8 b = 0.999f, c = 0.001f;
  float8 a0 = x[get_global_id(0)], a1 = a0 + 1.0f, a2 = a0 + 2.0f, a3 = a0 + 3.0f;
  float8 a4 = a0 + 4.0f, a5 = a0 + 5.0f, a6 = a0 + 6.0f, a7 = a0 + 7.0f;
  for (int i = 0; i < 512; ++i) {
    a0 = a0 * b + c; a1 = a1 * b + c; a2 = a2 * b + c; a3 = a3 * b + c;
    a4 = a4 * b + c; a5 = a5 * b + c; a6 = a6 * b + c; a7 = a7 * b + c;
  }
  a0 = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;
  x[get_global_id(0)] = a0.s0 + a0.s1 + a0.s2 + a0.s3 + a0.s4 + a0.s5 + a0.s6 + a0.s7;
}
)";

namespace {

constexpr uint32_t kBlockThreads = 64;
constexpr uint64_t kBlocksPerUnit = 32;
constexpr int kTries = 5;

double best_rate(const OpenDevice& open, gpu::Kernel* kernel, uint64_t blocks, char* error) {
  const gpu::Driver& driver = *open.driver;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    int64_t ns = 0;
    const gpu::LaunchSize size{.grid = {blocks, 1, 1}, .block = {kBlockThreads, 1, 1}, .shared_bytes = 0};
    if (!driver.begin_time(open.device, error) || !driver.launch(kernel, size, error) ||
        !driver.end_time(open.device, &ns, error))
      return 0;
    if (ns > 0)
      best =
          std::max(best, kPeakFlops * kBlockThreads * static_cast<double>(blocks) / static_cast<double>(ns));
  }
  return best;
}

}  // namespace

double measure_peak(const OpenDevice& open, const char* source, char* error) {
  const gpu::Driver& driver = *open.driver;
  const uint64_t blocks = kBlocksPerUnit * std::max(open.facts.units, 1u);
  gpu::Program* program = driver.load(open.device, source, std::strlen(source), error);
  if (program == nullptr) return 0;
  const uint64_t bytes = blocks * kBlockThreads * sizeof(float);
  double rate = 0;
  if (gpu::Memory* memory = driver.allocate(open.device, bytes, error)) {
    const gpu::Argument argument{memory, 0, bytes};
    gpu::Kernel* kernel = driver.find(program, "peak", error);
    if (kernel != nullptr && driver.fill(memory, 0, 0, bytes, error) &&
        driver.bind(kernel, &argument, 1, nullptr, 0, error))
      rate = best_rate(open, kernel, blocks, error);
    driver.free(memory);
  }
  driver.unload(program);
  return rate;
}

}  // namespace tf::worker::gpu_worker
