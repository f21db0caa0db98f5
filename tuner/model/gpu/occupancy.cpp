#include "tuner/model/gpu/occupancy.h"

namespace tf::model {
namespace {

constexpr double kPartitions = 4;  // of a multiprocessor, each with its warps and their registers

Value rounded_up(const Value& a, double granule) {
  return ceil(a / granule) * granule;
}

}  // namespace

Value resident_blocks(const BlockNeeds& block, const target::Target& target) {
  const target::GpuLimits& gpu = target.gpu;
  const auto known = [](auto is, double usually) { return is > 0 ? static_cast<double>(is) : usually; };
  const double warp_threads = gpu.warp_threads;
  const double sm_warps = known(gpu.sm_threads, 1024) / warp_threads;
  const double sm_registers = known(gpu.sm_registers, 64 << 10);
  const double sm_shared_bytes = known(gpu.sm_shared_bytes, 2.0 * static_cast<double>(gpu.shared_bytes));
  const Value warps = ceil(block.threads / warp_threads);
  const Value warp_registers =
      rounded_up(max(1, block.registers_per_thread) * warp_threads, known(gpu.register_granule, 256));
  const Value warps_by_registers = floor(sm_registers / kPartitions / warp_registers) * kPartitions;
  const Value shared = rounded_up(block.shared_bytes + static_cast<double>(gpu.shared_bytes_of_driver),
                                  known(gpu.shared_granule_bytes, 128));
  const Value blocks = min(min(known(gpu.sm_blocks, 16), floor(sm_warps / warps)),
                           min(floor(warps_by_registers / warps), floor(sm_shared_bytes / max(1, shared))));
  // At a launch the device counts as if each of its parts had the same number of warps.
  const Value fits = both(both(less_equal(block.threads, gpu.block_threads),
                               less_equal(block.registers_per_thread, gpu.registers_per_thread)),
                          both(less_equal(block.shared_bytes, static_cast<double>(gpu.shared_bytes)),
                               less_equal(warp_registers * rounded_up(warps, kPartitions), sm_registers)));
  return select(fits, blocks, 0);
}

}  // namespace tf::model
