#include "tuner/model/draft.h"

#include <algorithm>

#include "tuner/model/rates.h"

namespace tf::model {
namespace {

// Fitted to measured candidates of products and of plain and depthwise convolutions on Zen 4, by order and by
// time; held-out families were within 6% of the time, too.
constexpr double kSpillLoads = 6.4;           // of each operand beyond the register file, a tile
constexpr double kSharedSpillLoads = 0.8;     // of each broadcast that unrolled turns share, likewise
constexpr double kFreeBroadcast = 0.01;       // loads; it is an operand of the multiply-add
constexpr double kRowBroadcastCycles = 0.12;  // of one that feeds several vectors: an instruction more
constexpr double kGatheredLane = 5;           // loads
constexpr double kAccumulatorCycles = 1.1;    // to clear and to hand on, a reduction
constexpr double kWantedShare = 0.74;         // how far an edge tile's time follows the work left in it
constexpr double kWindow = 75;                // vector operations that are under way at once
constexpr double kLongCode = 0.05;            // of the time, each time the unrolled code doubles
constexpr double kShortCode = 128;            // vector operations
constexpr double kGuardedReduction = 1.17;    // a condition in each turn
constexpr double kOverlap = 0.17;  // of the shorter of computing and moving data, what stays visible

bool is_copied(schedule::Annotation annotation) {
  return annotation == schedule::Annotation::kUnroll || annotation == schedule::Annotation::kVectorize;
}

// The depth inside of which all loops are unrolled or vectorized.
size_t tile_depth(const Nest& nest) {
  size_t depth = nest.loops.size();
  while (depth > 0 && is_copied(nest.loops[depth - 1].annotation)) --depth;
  return depth;
}

// What tiles load: by vectors, lane by lane, one value for all lanes; and store.
struct Operands {
  Value vectors = 0, lanes = 0, broadcasts = 0, stores = 0;
};

template <typename Elems>
Operands operands_of(const Nest& nest, double register_lanes, const Elems& elems_of) {
  Operands operands;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    const Value elems = elems_of(access);
    const Value in_vectors = both(access.varies_with_vector, access.contiguous);
    const Value vectors = select(in_vectors, ceil(elems / register_lanes), 0);
    const Value lanes = select(in_vectors, 0, select(access.varies_with_vector, elems, 0));
    const Value single = select(access.varies_with_vector, 0, elems);
    if (access.is_store) {
      operands.stores += vectors + lanes + single;
      continue;
    }
    operands.vectors += vectors;
    operands.lanes += lanes;
    operands.broadcasts += single;
  }
  return operands;
}

// What one nest asks of a core, in cycles of each of its parts.
struct Work {
  Value fma = 0;    // multiply-adds into accumulators
  Value other = 0;  // arithmetic that nothing waits for
  Value loads = 0, stores = 0;
  Value extra = 0;  // what overlaps with nothing
  Value moved = 0;  // between levels of cache
  Value parallel = 1;
};

// Whether its results stay in registers for the nest that follows, and whether it takes such results.
bool leaves_registers(const Nest& nest) {
  return nest.accesses.back().in_register;
}
bool takes_registers(const Nest& nest) {
  return std::any_of(nest.accesses.begin(), nest.accesses.end() - 1,
                     [](const NestAccess& access) { return access.in_register; });
}

// A first-level cache's bytes of the nest's lines of depth `depth`, and of those that crowd most.
Value line_bytes(const Nest& nest, size_t depth) {
  Value bytes = 0;
  for (const NestAccess& access : nest.accesses)
    if (!access.in_register) bytes += access.touched_lines[depth].lines * kLineBytes;
  return bytes;
}
Value crowded_bytes(const Nest& nest, size_t depth) {
  Value bytes = 0;
  for (const NestAccess& access : nest.accesses)
    if (!access.in_register) bytes = max(bytes, access.touched_lines[depth].crowded_bytes);
  return bytes;
}

// A target that does not say shares some cache between cores, or buffers memory, for a few times its L2;
// behind an x86-64 core's own L2 there is 16 MB and more.
double shared_cache_bytes(const target::Target& target) {
  const int64_t times = target.arch == target::Arch::kX86_64 ? 16 : 4;
  return static_cast<double>(std::max(target.caches.l3_bytes, times * target.caches.l2_bytes));
}

Value moved_cycles(const Nest& nest, const target::Target& target, const Rates& rates) {
  const double l2 = static_cast<double>(target.caches.l2_bytes), shared = shared_cache_bytes(target);
  // What a run finds in the shared cache, the one before left there.
  const Value from_memory =
      select(less(shared, line_bytes(nest, 0)), traffic_bytes(nest, shared, Sets::kAny), 0);
  return traffic_bytes(nest, static_cast<double>(target.caches.l1_bytes), Sets::kFew) / rates.l2_bytes +
         traffic_bytes(nest, l2, Sets::kAny) / rates.l3_bytes + from_memory / rates.memory_bytes;
}

// Multiply-adds of a reduction: those of its tiles, or as long as accumulators wait for themselves. Of short
// reductions, the next tile's are under way meanwhile.
Value fma_cycles(const Nest& nest, const Value& per_point, const Rates& rates) {
  const Value share = kWantedShare * nest.wanted + (1 - kWantedShare) * nest.started;
  const Value under_way = max(nest.tile_vectors, kWindow / nest.reduce_extent);
  return per_point * max(share, nest.started * rates.fma_latency * rates.fmas / under_way) * nest.reduced *
         select(less(nest.reduced, 0.9999), kGuardedReduction, 1);
}

// Operands that the register file has no room for.
Value spill_cycles(const Nest& nest, const target::Target& target, const Value& tiles) {
  const double lanes = target.fp32_lanes(), registers = target.vector.registers;
  const size_t depth = tile_depth(nest);
  const Value body = nest.unrolled_body * ceil(nest.lanes / lanes);
  Value held = nest.tile_vectors, shared = 0, once = 0, turned = 0;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register || access.is_store) continue;
    const Value elems = access.touched_elems[depth], vectors = ceil(elems / lanes);
    const Value in_vectors = both(access.varies_with_vector, access.contiguous);
    held += select(both(in_vectors, less(vectors, body)), vectors, 0);
    once += select(access.varies_with_vector, 0, elems);
    turned += select(access.varies_with_vector, 0, access.unrolled_elems);
  }
  // Turns of a window read the same values: these are loaded once, and wait in registers.
  shared = select(less(turned + 0.5, once * nest.unrolled_turns), once, 0);
  return tiles *
         (kSpillLoads * max(0, held + 1 - registers) + kSharedSpillLoads * max(0, held + shared - registers));
}

Work work_of(const Nest& nest, const target::Target& target, const Rates& rates) {
  const double lanes = target.fp32_lanes();
  const Value points = nest.iterations / nest.lanes;
  const Value vectors = ceil(nest.lanes / lanes);
  const Value tiles = points / nest.unrolled_body * nest.started * nest.reduced;
  const Value reduces = less(1, nest.reduce_extent);
  const Operands turn =
      operands_of(nest, lanes, [](const NestAccess& access) { return access.unrolled_elems; });
  const Value turns = tiles / nest.unrolled_turns;
  const Value broadcasts = turn.broadcasts * nest.wanted / max(1e-9, nest.started);
  Work work;
  // A multiply and an add that feed an accumulator are one instruction.
  work.fma =
      select(reduces,
             fma_cycles(nest, points * vectors * std::max(1.0, nest.flops_per_iteration * 0.5), rates), 0) /
      rates.fmas;
  work.other = select(reduces, 0, points * vectors * nest.wanted * nest.flops_per_iteration) / rates.fmas;
  work.loads =
      turns * (turn.vectors + kGatheredLane * turn.lanes + kFreeBroadcast * broadcasts) / rates.loads;
  work.stores = turns * turn.stores / rates.stores;
  const Value copies = nest.unrolled_body * vectors * nest.unrolled_turns;
  work.extra = select(reduces, kLongCode * work.fma * log2(max(1, copies / kShortCode)), 0) +
               select(reduces, spill_cycles(nest, target, tiles) / rates.loads, 0) +
               select(less(1, nest.row_vectors), kRowBroadcastCycles * turns * broadcasts, 0);
  if (leaves_registers(nest))
    work.extra += kAccumulatorCycles * points * vectors * nest.started / nest.reduce_extent;
  work.moved = moved_cycles(nest, target, rates);
  work.parallel = max(nest.parallel, 1);
  return work;
}

// Of nests that run into one another, one's arithmetic beside the other's.
Work together(const Work& a, const Work& b) {
  return {a.fma + b.fma,     a.other + b.other, a.loads + b.loads,          a.stores + b.stores,
          a.extra + b.extra, a.moved + b.moved, max(a.parallel, b.parallel)};
}

Value cycles_of(const Work& work, int threads) {
  const Value busy = max(max(work.fma, work.other), max(work.loads, work.stores)) + work.extra;
  const Value speedup = work.parallel / ceil(work.parallel / threads);
  return (max(busy, work.moved) + kOverlap * min(busy, work.moved)) / speedup;
}

}  // namespace

Value footprint_bytes(const Nest& nest, size_t depth) {
  Value bytes = 0;
  for (const NestAccess& access : nest.accesses)
    if (!access.in_register) bytes += access.touched_elems[depth] * access.element_bytes;
  return bytes;
}

Value traffic_bytes(const Nest& nest, double cache_bytes, Sets sets) {
  // From the outermost depth inwards, so that the selects end with the outermost whose lines, and those of
  // every depth inside, fit. The loop around it brings in the lines of all its turns once: what two turns
  // share stays from one to the next.
  Value rounds = 1, chosen = line_bytes(nest, 0);
  for (size_t depth = 0; depth < nest.loops.size(); ++depth) {
    const Value lines = line_bytes(nest, depth);
    const Value needed = sets == Sets::kFew ? max(lines, crowded_bytes(nest, depth)) : lines;
    chosen = select(less(cache_bytes, needed), rounds * lines, chosen);
    rounds *= nest.loops[depth].extent;
  }
  return chosen;
}

Draft draft_of(std::span<const Nest> nests, const target::Target& target, int threads) {
  const Rates rates = rates_of(target);
  Value cycles = 0;
  Work waiting, all;  // of nests whose results are in registers; of all nests
  for (const Nest& nest : nests) {
    Work work = work_of(nest, target, rates);
    all = together(all, work);
    const bool takes = takes_registers(nest);
    if (takes || leaves_registers(nest)) work = waiting = together(waiting, work);
    if (leaves_registers(nest)) continue;
    cycles += cycles_of(work, threads);
    if (takes) waiting = {};
  }
  cycles = max(1, cycles + cycles_of(waiting, threads));
  return {.seconds = cycles / rates.hertz,
          .fma = all.fma / cycles,
          .other = all.other / cycles,
          .loads = all.loads / cycles,
          .stores = all.stores / cycles,
          .extra = all.extra / cycles,
          .moved = all.moved / cycles};
}

}  // namespace tf::model
