#include "compiler/target/occupancy.h"

#include <algorithm>

namespace tf::target {
namespace {

constexpr int kPartitions = 4;  // of a multiprocessor, each with its warps and their registers

int64_t rounded_up(int64_t value, int64_t granule) {
  return (value + granule - 1) / granule * granule;
}

}  // namespace

int blocks_per_multiprocessor(const GpuLimits& gpu, const BlockNeeds& block) {
  if (gpu.sm_threads == 0 || block.threads < 1 || block.threads > gpu.block_threads ||
      block.registers_per_thread > gpu.registers_per_thread || block.shared_bytes > gpu.shared_bytes)
    return 0;
  const int64_t warps = rounded_up(block.threads, gpu.warp_threads) / gpu.warp_threads;
  int64_t blocks = std::min<int64_t>(gpu.sm_blocks, gpu.sm_threads / gpu.warp_threads / warps);
  if (block.registers_per_thread > 0) {
    const int64_t of_warp =
        rounded_up(int64_t{block.registers_per_thread} * gpu.warp_threads, gpu.register_granule);
    // At a launch the device counts as if each of its parts had the same number of warps.
    if (of_warp * rounded_up(warps, kPartitions) > gpu.sm_registers) return 0;
    const int64_t warps_by_registers = gpu.sm_registers / kPartitions / of_warp * kPartitions;
    blocks = std::min(blocks, warps_by_registers / warps);
  }
  const int64_t shared =
      rounded_up(block.shared_bytes + gpu.shared_bytes_of_driver, gpu.shared_granule_bytes);
  if (shared > 0) blocks = std::min(blocks, gpu.sm_shared_bytes / shared);
  return static_cast<int>(blocks);
}

}  // namespace tf::target
