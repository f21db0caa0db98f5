#include "tuner/model/draft.h"

#include <algorithm>

#include "tuner/model/rates.h"

namespace tf::model {
namespace {

// Fitted to measured candidates of products and of plain and depthwise convolutions on Zen 4, by order and by
// time (`search_replay explain` shows both beside each other).
constexpr double kSpillLoads = 1.3;           // of each operand beyond the register file, a tile
constexpr double kSpilled = 0.12;             // of each accumulator, as soon as anything has no room
constexpr double kSharedSpillLoads = 1.1;     // of each broadcast that unrolled turns share, likewise
constexpr double kFreeBroadcast = 0.025;      // loads; it is an operand of the multiply-add
constexpr double kRowBroadcastCycles = 0.16;  // of one that feeds several vectors: an instruction more
constexpr double kGatheredLane = 5;           // loads
constexpr double kSplit = 1;                  // accesses more, of a vector that crosses a line
constexpr double kAccumulatorCycles = 1.4;    // to clear and to hand on, a reduction
constexpr double kWantedShare = 0.9;          // how far an edge tile's time follows the work left in it
constexpr double kWindow = 225;               // vector operations that are under way at once
constexpr double kLongCode = 0.054;           // of the time, each time the unrolled code doubles
constexpr double kShortCode = 100;            // vector operations
constexpr double kGuardedReduction = 1.09;    // a condition in each turn
constexpr double kOverlap = 0.165;  // of the shorter of computing and moving data, what stays visible
constexpr double kWritten = 0.76;   // of a line that is stored to, against one that is loaded

// From what share of a cache on lines are lost between two uses, and over how much more all of them are: the
// replacement is not strictly the least recently used. A first cache also serves what is read beside them.
struct Room {
  double low, width;
};
constexpr Room kInL1 = {0.43, 0.33}, kInL2 = {1.5, 0.4};
// Of lines that crowd into few sets.
constexpr Room kInSetsOfL1 = {1.14, 2.1}, kInSetsOfL2 = {1.15, 0.97};

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
    // Vectors that start anywhere cross a line now and then: two accesses.
    const double accesses = 1 + kSplit * (1 - access.alignment / kLineBytes);
    const Value vectors = select(in_vectors, accesses * ceil(elems / register_lanes), 0);
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

// What one nest asks of a core, in cycles of each resource.
struct Work {
  std::array<Value, kResources> cycles;
  Value parallel = 1;
  Value& operator[](Resource resource) { return cycles[static_cast<size_t>(resource)]; }
  const Value& operator[](Resource resource) const { return cycles[static_cast<size_t>(resource)]; }
};

// Whether its results stay in registers for the nest that follows, and whether it takes such results.
bool leaves_registers(const Nest& nest) {
  return nest.accesses.back().in_register;
}
bool takes_registers(const Nest& nest) {
  return std::any_of(nest.accesses.begin(), nest.accesses.end() - 1,
                     [](const NestAccess& access) { return access.in_register; });
}

Value crowded_bytes(const NestAccess& access, size_t depth, Level level) {
  const LineCount& lines = access.touched_lines[depth];
  return level == Level::kL1 ? lines.crowded_l1_bytes : level == Level::kL2 ? lines.crowded_l2_bytes : 0;
}

// A target that does not say shares some cache between cores, or buffers memory, for a few times its L2;
// behind an x86-64 core's own L2 there is 16 MB and more.
double shared_cache_bytes(const target::Target& target) {
  const int64_t times = target.arch == target::Arch::kX86_64 ? 16 : 4;
  return static_cast<double>(std::max(target.caches.l3_bytes, times * target.caches.l2_bytes));
}

void add_moves(const Nest& nest, const target::Target& target, const Rates& rates, Work& work) {
  const double l2 = static_cast<double>(target.caches.l2_bytes), shared = shared_cache_bytes(target);
  const Traffic from_l2 = traffic_of(nest, Level::kL1, static_cast<double>(target.caches.l1_bytes));
  const Traffic from_l3 = traffic_of(nest, Level::kL2, l2);
  // What a run finds in the shared cache, the one before left there; but a network's weights come from
  // memory.
  const Value from_memory =
      select(less(shared, line_bytes(nest, 0)), traffic_of(nest, Level::kShared, shared).bytes, 0);
  Value constants = 0;
  for (const NestAccess& access : nest.accesses)
    if (access.is_constant) constants += access.touched_lines[0].lines * kLineBytes;
  work[Resource::kL2] = from_l2.bytes / rates.l2_bytes + rates.l2_run * from_l2.runs;
  work[Resource::kL3] =
      from_l3.bytes / rates.l3_bytes + rates.l3_run * from_l2.runs * from_l3.bytes / max(1, from_l2.bytes);
  work[Resource::kMemory] = max(from_memory, constants) / rates.memory_bytes +
                            rates.memory_run * min(from_l2.constant_runs, constants / kLineBytes);
}

// Multiply-adds of a reduction: those of its tiles, or as long as accumulators wait for themselves. Of short
// reductions, the next tile's are under way meanwhile.
void add_multiply_adds(const Nest& nest, const Value& per_point, const Rates& rates, Work& work) {
  const Value share = kWantedShare * nest.wanted + (1 - kWantedShare) * nest.started;
  const Value under_way = max(nest.tile_vectors, kWindow / nest.reduce_extent);
  const Value each =
      per_point * nest.reduced * select(less(nest.reduced, 0.9999), kGuardedReduction, 1) / rates.fmas;
  work[Resource::kMultiplyAdds] = each * share;
  work[Resource::kWaits] = each * max(0, nest.started * rates.fma_latency * rates.fmas / under_way - share);
}

// Operands that the register file has no room for.
Value spilled_loads(const Nest& nest, const target::Target& target, const Value& tiles) {
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
  return tiles * (kSpillLoads * max(0, held + 1 - registers) +
                  kSpilled * less(registers, held + 1) * nest.tile_vectors +
                  kSharedSpillLoads * max(0, held + shared - registers));
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
  if (reduces.greatest() > 0) {
    // A multiply and an add that feed an accumulator are one instruction.
    add_multiply_adds(nest, points * vectors * std::max(1.0, nest.flops_per_iteration * 0.5), rates, work);
    for (const Resource r : {Resource::kMultiplyAdds, Resource::kWaits})
      work[r] = select(reduces, work[r], 0);
  }
  work[Resource::kArithmetic] =
      select(reduces, 0, points * vectors * nest.wanted * nest.flops_per_iteration) / rates.fmas;
  work[Resource::kLoads] =
      turns * (turn.vectors + kGatheredLane * turn.lanes + kFreeBroadcast * broadcasts) / rates.loads;
  work[Resource::kStores] = turns * turn.stores / rates.stores;
  const Value copies = nest.unrolled_body * vectors * nest.unrolled_turns;
  work[Resource::kCode] = select(reduces,
                                 kLongCode * (work[Resource::kMultiplyAdds] + work[Resource::kWaits]) *
                                     log2(max(1, copies / kShortCode)),
                                 0) +
                          select(less(1, nest.row_vectors), kRowBroadcastCycles * turns * broadcasts, 0);
  work[Resource::kSpills] = select(reduces, spilled_loads(nest, target, tiles) / rates.loads, 0);
  if (leaves_registers(nest))
    work[Resource::kHandingOn] = kAccumulatorCycles * points * vectors * nest.started / nest.reduce_extent;
  add_moves(nest, target, rates, work);
  work.parallel = max(nest.parallel, 1);
  return work;
}

// Of nests that run into one another, one's arithmetic beside the other's.
Work together(const Work& a, const Work& b) {
  Work sum;
  for (size_t r = 0; r < kResources; ++r) sum.cycles[r] = a.cycles[r] + b.cycles[r];
  sum.parallel = max(a.parallel, b.parallel);
  return sum;
}

Value cycles_of(const Work& work, int threads) {
  const Value fma = work[Resource::kMultiplyAdds] + work[Resource::kWaits];
  const Value &other = work[Resource::kArithmetic], &loads = work[Resource::kLoads],
              &stores = work[Resource::kStores];
  const Value busy = max(max(fma, other), max(loads, stores)) + work[Resource::kSpills] +
                     work[Resource::kCode] + work[Resource::kHandingOn];
  const Value moved = work[Resource::kL2] + work[Resource::kL3] + work[Resource::kMemory];
  const Value speedup = work.parallel / ceil(work.parallel / threads);
  return (max(busy, moved) + kOverlap * min(busy, moved)) / speedup;
}

}  // namespace

const char* resource_name(Resource resource) {
  switch (resource) {
    case Resource::kMultiplyAdds:
      return "multiply-adds";
    case Resource::kWaits:
      return "waits";
    case Resource::kArithmetic:
      return "arithmetic";
    case Resource::kLoads:
      return "loads";
    case Resource::kStores:
      return "stores";
    case Resource::kSpills:
      return "spills";
    case Resource::kCode:
      return "code";
    case Resource::kHandingOn:
      return "handing on";
    case Resource::kL2:
      return "L2";
    case Resource::kL3:
      return "L3";
    case Resource::kMemory:
      return "memory";
  }
  return "";
}

Value line_bytes(const Nest& nest, size_t depth) {
  Value bytes = 0;
  for (const NestAccess& access : nest.accesses)
    if (!access.in_register) bytes += access.touched_lines[depth].lines * kLineBytes;
  return bytes;
}

Value crowded_bytes(const Nest& nest, size_t depth, Level level) {
  Value bytes = 0;
  for (const NestAccess& access : nest.accesses)
    if (!access.in_register) bytes = max(bytes, crowded_bytes(access, depth, level));
  return bytes;
}

namespace {

// What share of lines that need so much of a cache are gone before they are used again.
Value lost(const Value& needed_bytes, double cache_bytes, const Room& room) {
  return min(1, max(0, (needed_bytes / cache_bytes - room.low) / room.width));
}

}  // namespace

Traffic traffic_of(const Nest& nest, Level level, double cache_bytes) {
  // From the outermost depth inwards, so that what is chosen last is the outermost whose lines, and those of
  // every depth inside, fit. The loop around it brings in the lines of all its turns once: what two turns
  // share stays from one to the next. What does not fit by little is lost in part.
  const bool first = level == Level::kL1;
  std::vector<Value> of_all, rounds = {1};
  for (size_t depth = 0; depth < nest.loops.size(); ++depth) {
    of_all.push_back(lost(line_bytes(nest, depth), cache_bytes, first ? kInL1 : kInL2));
    rounds.push_back(rounds.back() * nest.loops[depth].extent);
  }
  Traffic traffic;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    Value lines = access.touched_lines[0].lines, runs = access.touched_lines[0].runs;
    for (size_t depth = 0; depth < nest.loops.size(); ++depth) {
      const LineCount& here = access.touched_lines[depth];
      const Value crowded =
          lost(crowded_bytes(access, depth, level), cache_bytes, first ? kInSetsOfL1 : kInSetsOfL2);
      const Value gone = max(of_all[depth], crowded);
      lines += gone * (rounds[depth] * here.lines - lines);
      runs += gone * (rounds[depth] * here.runs - runs);
    }
    traffic.bytes += lines * kLineBytes * (access.is_store ? kWritten : 1);
    if (!access.is_store) traffic.runs += runs;
    if (access.is_constant) traffic.constant_runs += runs;
  }
  return traffic;
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
  Draft draft{.seconds = cycles / rates.hertz, .shares = {}};
  for (size_t r = 0; r < kResources; ++r) draft.shares[r] = all.cycles[r] / cycles;
  return draft;
}

}  // namespace tf::model
