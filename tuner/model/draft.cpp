#include "tuner/model/draft.h"

#include <algorithm>
#include <cmath>

namespace tf::model {
namespace {

// Rates per cycle that hold within a factor for out-of-order cores since 2015; the learned model corrects the
// rest.
constexpr double kFmaPerCycle = 2;
constexpr double kLoadsPerCycle = 2;
constexpr double kBytesPerCycleL2 = 32;
constexpr double kBytesPerCycleL3 = 12;
constexpr double kBytesPerCycleMemory = 5;
constexpr double kFmaLatency = 4;  // accumulators needed to keep one pipe busy
constexpr double kSpillCost = 2;   // a store and a load for each vector beyond the register file

double arithmetic_cycles(const Nest& nest, const target::Target& target) {
  const double lanes = static_cast<double>(target.fp32_lanes());
  const double vectors_per_iteration =
      std::ceil(static_cast<double>(nest.lanes) / lanes) / static_cast<double>(nest.lanes);
  // A multiply and an add that feed an accumulator are one instruction.
  const bool fused = nest.reduce_extent > 1;
  const double operations = std::max(1.0, nest.flops_per_iteration * (fused ? 0.5 : 1.0));
  double cycles = nest.iterations * vectors_per_iteration * operations / kFmaPerCycle;
  if (nest.reduce_extent > 1) {
    const double needed = kFmaLatency * kFmaPerCycle;
    cycles *= std::max(1.0, needed / static_cast<double>(nest.tile_vectors));
  }
  return cycles;
}

double load_cycles(const Nest& nest, const target::Target& target) {
  const double lanes = static_cast<double>(target.fp32_lanes());
  const double tile = static_cast<double>(nest.tile_vectors);
  double loads_per_tile = 0;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    // Reuse in registers: what the unrolled and vectorized loops touch is loaded once a tile.
    size_t depth = nest.loops.size();
    while (depth > 0 && (nest.loops[depth - 1].annotation == schedule::Annotation::kUnroll ||
                         nest.loops[depth - 1].annotation == schedule::Annotation::kVectorize)) {
      --depth;
    }
    const double touched = access.touched_elems[depth];
    if (!access.varies_with_vector) {
      loads_per_tile += touched;
    } else {
      loads_per_tile += access.contiguous ? std::ceil(touched / lanes) : touched;
    }
  }
  if (tile > target.vector.registers - 3) loads_per_tile += kSpillCost * (tile - target.vector.registers + 3);
  const double points_per_tile = static_cast<double>(nest.lanes * nest.unrolled_body);
  return nest.iterations / points_per_tile * loads_per_tile / kLoadsPerCycle;
}

// A target that does not say has some shared cache or memory-side buffering of a few times its L2.
double shared_cache_bytes(const target::Target& target) {
  return static_cast<double>(std::max(target.caches.l3_bytes, 4 * target.caches.l2_bytes));
}

// Counter, compare and branch of the innermost loop that remains after unrolling.
double loop_cycles(const Nest& nest) {
  constexpr double kCyclesPerTurn = 1;
  return nest.iterations / static_cast<double>(nest.lanes * nest.unrolled_body) * kCyclesPerTurn;
}

}  // namespace

double traffic_bytes(const Nest& nest, double cache_bytes) {
  // The outermost depth whose working set fits.
  size_t depth = nest.loops.size();
  while (depth > 0) {
    double bytes = 0;
    for (const NestAccess& access : nest.accesses) {
      if (!access.in_register) bytes += access.touched_elems[depth - 1] * access.element_bytes;
    }
    if (bytes > cache_bytes) break;
    --depth;
  }
  double total = 0;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    // A loop around the fitting depth that the access does not move with brings nothing new if only that loop
    // turns.
    double rounds = 1;
    bool moved = false;
    for (size_t i = depth; i-- > 0;) {
      const bool moves = access.touched_elems[i] > access.touched_elems[i + 1];
      if (moves || moved) rounds *= static_cast<double>(nest.loops[i].extent);
      moved = moved || moves || depth - i > 1;
    }
    total += rounds * access.touched_elems[depth] * access.element_bytes;
  }
  return total;
}

double draft_seconds(std::span<const Nest> nests, const target::Target& target, int threads) {
  double cycles = 0;
  for (const Nest& nest : nests) {
    const double moved = traffic_bytes(nest, static_cast<double>(target.caches.l1_bytes)) / kBytesPerCycleL2 +
                         traffic_bytes(nest, static_cast<double>(target.caches.l2_bytes)) / kBytesPerCycleL3 +
                         traffic_bytes(nest, shared_cache_bytes(target)) / kBytesPerCycleMemory;
    const double arithmetic = arithmetic_cycles(nest, target), loads = load_cycles(nest, target);
    // Out-of-order cores overlap these well, not wholly.
    const double busy = std::max(arithmetic, loads) + 0.2 * std::min(arithmetic, loads) + loop_cycles(nest);
    const double parallel = static_cast<double>(std::max<int64_t>(nest.parallel, 1));
    const double speedup = parallel / std::ceil(parallel / threads);
    cycles += (std::max(busy, moved) + 0.3 * std::min(busy, moved)) / speedup;
  }
  constexpr double kNominalHertz = 3e9;
  return cycles / kNominalHertz;
}

}  // namespace tf::model
