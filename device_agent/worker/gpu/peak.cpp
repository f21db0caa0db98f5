#include "device_agent/worker/gpu/peak.h"

#include <algorithm>
#include <cstring>

namespace tf::worker::gpu_worker {

// Eight chains, so that none waits for its last result.
const char kOpenClPeak[] = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void peak(__global float* x) {
  const float b = 0.999f, c = 0.001f;
  float a0 = x[get_global_id(0)], a1 = a0 + 1, a2 = a0 + 2, a3 = a0 + 3, a4 = a0 + 4, a5 = a0 + 5, a6 = a0 + 6, a7 = a0 + 7;
  for (int i = 0; i < 4096; ++i) {
    a0 = a0 * b + c; a1 = a1 * b + c; a2 = a2 * b + c; a3 = a3 * b + c;
    a4 = a4 * b + c; a5 = a5 * b + c; a6 = a6 * b + c; a7 = a7 * b + c;
  }
  x[get_global_id(0)] = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;
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
