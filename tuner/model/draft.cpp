#include "tuner/model/draft.h"

#include <algorithm>

#include "tuner/model/rates.h"

namespace tf::model {
namespace {

// In vector loads; fitted to the order of measured candidates of products and convolutions on Zen 4.
constexpr double kSpillCost = 8;         // of each vector beyond the register file, a tile
constexpr double kBroadcastCost = 0.25;  // of one value for all lanes: an operand of the multiply-add

// Points of the nest that are computed: a guard ends its loop, it does not run empty turns.
Value computed_points(const Nest& nest) {
  return select(less(0, nest.guards), min(nest.iterations, nest.useful_iterations), nest.iterations);
}

Value arithmetic_cycles(const Nest& nest, const target::Target& target, const Rates& rates) {
  const Value vectors_per_iteration = ceil(nest.lanes / target.fp32_lanes()) / nest.lanes;
  // A multiply and an add that feed an accumulator are one instruction, and wait for the one before.
  const Value reduces = less(1, nest.reduce_extent);
  const Value operations =
      select(reduces, std::max(1.0, nest.flops_per_iteration * 0.5), std::max(1.0, nest.flops_per_iteration));
  const Value waits = max(1, rates.fma_latency * rates.fmas / nest.tile_vectors);
  return computed_points(nest) * vectors_per_iteration * operations / rates.fmas * select(reduces, waits, 1);
}

// The depth inside of which all loops are unrolled or vectorized.
size_t tile_depth(const Nest& nest) {
  size_t depth = nest.loops.size();
  while (depth > 0 && (nest.loops[depth - 1].annotation == schedule::Annotation::kUnroll ||
                       nest.loops[depth - 1].annotation == schedule::Annotation::kVectorize))
    --depth;
  return depth;
}

Value load_cycles(const Nest& nest, const target::Target& target, const Rates& rates) {
  const size_t depth = tile_depth(nest);
  Value vectors = 0, lanes = 0, broadcasts = 0;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    // Reuse in registers: what the unrolled and vectorized loops touch is loaded once a tile.
    const Value& touched = access.touched_elems[depth];
    const Value in_vectors = both(access.varies_with_vector, access.contiguous);
    vectors += select(in_vectors, ceil(touched / target.fp32_lanes()), 0);
    lanes += select(in_vectors, 0, select(access.varies_with_vector, touched, 0));
    broadcasts += select(access.varies_with_vector, 0, touched);
  }
  // Accumulators, the vectors that they are fed from, and one that all of these share.
  const Value spilled = max(0, nest.tile_vectors + vectors + 1 - target.vector.registers);
  const Value tiles = computed_points(nest) / (nest.lanes * nest.unrolled_body);
  return tiles * (vectors + lanes + kBroadcastCost * broadcasts + kSpillCost * spilled) / rates.loads;
}

// A target that does not say has some shared cache or memory-side buffering of a few times its L2.
double shared_cache_bytes(const target::Target& target) {
  return static_cast<double>(std::max(target.caches.l3_bytes, 4 * target.caches.l2_bytes));
}

// What a run finds in the shared cache, the one before left there.
Value beyond_shared_cache(const Nest& nest, const target::Target& target) {
  const double cache = shared_cache_bytes(target);
  return select(less(cache, footprint_bytes(nest, 0)), traffic_bytes(nest, cache), 0);
}

// Counter, compare and branch of the innermost loop that remains after unrolling.
Value loop_cycles(const Nest& nest) {
  constexpr double kCyclesPerTurn = 1;
  return computed_points(nest) / (nest.lanes * nest.unrolled_body * nest.unrolled_turns) * kCyclesPerTurn;
}

// Bytes that come in if what the loops from `depth` inwards touch stays, and nothing else. A loop around that
// depth which the access does not move with brings nothing new if only that loop turns.
Value traffic_at(const Nest& nest, const NestAccess& access, size_t depth) {
  Value rounds = 1, moved = 0;
  for (size_t i = depth; i-- > 0;) {
    const Value moves = less(access.touched_elems[i + 1], access.touched_elems[i]);
    rounds *= select(either(moves, moved), nest.loops[i].extent, 1);
    moved = depth - i > 1 ? Value(1) : moves;
  }
  return rounds * access.touched_elems[depth] * access.element_bytes;
}

}  // namespace

Value footprint_bytes(const Nest& nest, size_t depth) {
  Value bytes = 0;
  for (const NestAccess& access : nest.accesses)
    if (!access.in_register) bytes += access.touched_elems[depth] * access.element_bytes;
  return bytes;
}

Value traffic_bytes(const Nest& nest, double cache_bytes) {
  // From the outermost depth inwards, so that the selects end with the outermost whose working set, and that
  // of every depth inside, fits.
  std::vector<Value> traffic;
  for (size_t depth = 0; depth <= nest.loops.size(); ++depth) {
    Value total = 0;
    for (const NestAccess& access : nest.accesses)
      if (!access.in_register) total += traffic_at(nest, access, depth);
    traffic.push_back(total);
  }
  Value chosen = traffic[0];
  for (size_t depth = 1; depth <= nest.loops.size(); ++depth)
    chosen = select(less(cache_bytes, footprint_bytes(nest, depth - 1)), traffic[depth], chosen);
  return chosen;
}

Value draft_seconds(std::span<const Nest> nests, const target::Target& target, int threads) {
  const Rates rates = rates_of(target);
  Value cycles = 0;
  for (const Nest& nest : nests) {
    const Value moved = traffic_bytes(nest, static_cast<double>(target.caches.l1_bytes)) / rates.l2_bytes +
                        traffic_bytes(nest, static_cast<double>(target.caches.l2_bytes)) / rates.l3_bytes +
                        beyond_shared_cache(nest, target) / rates.memory_bytes;
    const Value arithmetic = arithmetic_cycles(nest, target, rates), loads = load_cycles(nest, target, rates);
    // Out-of-order cores overlap these well, not wholly.
    const Value busy = max(arithmetic, loads) + 0.2 * min(arithmetic, loads) + loop_cycles(nest);
    const Value parallel = max(nest.parallel, 1);
    const Value speedup = parallel / ceil(parallel / threads);
    cycles += (max(busy, moved) + 0.3 * min(busy, moved)) / speedup;
  }
  return cycles / rates.hertz;
}

}  // namespace tf::model
