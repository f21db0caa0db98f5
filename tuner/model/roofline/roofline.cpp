#include "tuner/model/roofline/roofline.h"

#include <algorithm>

#include "tuner/model/roofline/rates.h"

namespace tf::model {
namespace {

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
  // Of the vectors, those that the loop around leaves where they are, and the registers that would keep them.
  Value staying = 0, staying_registers = 0;
};

Operands operands_of(const Nest& nest, double register_lanes) {
  Operands operands;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    const Value& elems = access.unrolled_elems;
    const Value in_vectors = both(access.varies_with_vector, access.contiguous);
    // Vectors that start anywhere cross a line now and then: two accesses.
    const double accesses = 1 + lines_crossed(register_lanes * access.element_bytes, access.alignment);
    const Value registers = select(in_vectors, ceil(elems / register_lanes), 0);
    const Value vectors = accesses * registers;
    const Value lanes = select(in_vectors, 0, select(access.varies_with_vector, elems, 0));
    const Value single = select(access.varies_with_vector, 0, elems);
    if (access.is_store) {
      operands.stores += vectors + lanes + single;
      continue;
    }
    operands.vectors += vectors;
    operands.lanes += lanes;
    operands.broadcasts += single;
    operands.staying += select(access.stays, vectors, 0);
    operands.staying_registers += select(access.stays, registers, 0);
  }
  return operands;
}

// Registers that the accumulators of a tile take, with what several of them share: values and vectors.
Value held_registers(const Nest& nest, double register_lanes) {
  const size_t depth = tile_depth(nest);
  const Value body = nest.unrolled_body * ceil(nest.lanes / register_lanes);
  // A value that one vector alone takes is an operand in memory.
  Value held = nest.tile_vectors + less(1, nest.row_vectors);
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register || access.is_store) continue;
    const Value vectors = ceil(access.touched_elems[depth] / register_lanes);
    const Value in_vectors = both(access.varies_with_vector, access.contiguous);
    held += select(both(in_vectors, less(vectors, body)), vectors, 0);
  }
  return held;
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

void add_moves(const Nest& nest, const target::Target& target, const RooflineOptions& options,
               const Pace& pace, Work& work) {
  const RooflineConstants& constants = options.constants;
  const double shared = shared_cache_bytes(target);
  const Traffic from_l2 =
      traffic_of(nest, Level::kL1, static_cast<double>(target.caches.l1_bytes), constants);
  const Traffic from_l3 =
      traffic_of(nest, Level::kL2, static_cast<double>(target.caches.l2_bytes), constants);
  // What a run finds in the shared cache, the one before left there; but of a network's weights only as far
  // as what is read in between leaves room.
  const Value from_memory =
      select(less(shared, line_bytes(nest, 0)), traffic_of(nest, Level::kShared, shared, constants).bytes, 0);
  Value given = 0;
  for (const NestAccess& access : nest.accesses)
    if (access.is_constant) given += access.touched_lines[0].lines * kLineBytes;
  given = select(less(shared, static_cast<double>(options.reuse_distance_bytes) + given), given, 0);
  work[Resource::kL2] = from_l2.bytes / pace.l2_bytes + constants.l2_run * from_l2.runs;
  work[Resource::kL3] =
      from_l3.bytes / pace.l3_bytes + constants.l3_run * from_l2.runs * from_l3.bytes / max(1, from_l2.bytes);
  work[Resource::kMemory] = max(from_memory, given) / pace.memory_bytes +
                            constants.memory_run * min(from_l2.constant_runs, given / kLineBytes);
}

// Multiply-adds of a reduction: those of its tiles, or as long as accumulators wait for themselves. Of short
// reductions, the next tile's are under way meanwhile: as many as the core looks ahead.
void add_multiply_adds(const Nest& nest, const Value& per_point, const Operands& turn, const Value& copies,
                       const Rates& rates, const RooflineConstants& constants, Work& work) {
  constexpr double kLoopInstructions = 3;  // of a turn: to count, to compare, to jump
  const Value share = constants.wanted_share * nest.wanted + (1 - constants.wanted_share) * nest.started;
  const Value of_turn = copies + turn.vectors + select(less(1, nest.row_vectors), turn.broadcasts, 0) +
                        turn.stores + kLoopInstructions;
  const Value instructions =
      nest.tile_vectors * (nest.reduce_extent * of_turn / max(1, copies) + 2);  // cleared, handed on
  const Value under_way = nest.tile_vectors * (1 + constants.look_ahead / instructions);
  const Value each = per_point * nest.reduced *
                     select(less(nest.reduced, 0.9999), constants.guarded_reduction, 1) / rates.fmas;
  work[Resource::kMultiplyAdds] = each * share;
  work[Resource::kWaits] =
      each * max(0, nest.started * constants.fma_latency * rates.fmas / under_way - share);
}

// Cycles that registers which do not suffice cost so many tiles, of which one unrolled body has several.
Value spills(const Nest& nest, const target::Target& target, const Value& held, const Value& tiles,
             const RooflineConstants& constants) {
  const double registers = target.vector.registers;
  Value waiting = 0, values = 0;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register || access.is_store) continue;
    const Value waits = select(access.varies_with_vector, 0, access.waiting_elems);
    waiting += waits;
    values += select(less(0, waits), access.unrolled_elems, 0);
  }
  // An accumulator in memory makes each turn wait for the one before: stored, and loaded again.
  const Value beyond = max(0, held - registers);
  const Value of_tile = constants.spill_cycles * min(1, beyond) + constants.spill_each * beyond;
  const Value lacking = min(1, max(0, held + waiting - registers) / max(1, waiting));
  return tiles * (of_tile + constants.window_spill * values * lacking / nest.unrolled_turns);
}

Work work_of(const Nest& nest, const target::Target& target, const RooflineOptions& options,
             const Pace& pace) {
  const Rates rates = rates_of(target);
  const RooflineConstants& constants = options.constants;
  const double lanes = target.fp32_lanes();
  const Value points = nest.iterations / nest.lanes;
  const Value vectors = ceil(nest.lanes / lanes);
  const Value tiles = points / nest.unrolled_body * nest.started * nest.reduced;
  const Value reduces = less(1, nest.reduce_extent);
  const Operands turn = operands_of(nest, lanes);
  const Value turns = tiles / nest.unrolled_turns;
  const Value broadcasts = turn.broadcasts * nest.wanted / max(1e-9, nest.started);
  const Value copies = nest.unrolled_body * vectors * nest.unrolled_turns;
  const Value held = held_registers(nest, lanes);
  // Weights of a window that is unrolled wholly stay in registers from one pixel to the next.
  const Value keeps = both(reduces, less(held + turn.staying_registers, target.vector.registers));
  const Value loaded = turn.vectors - select(keeps, turn.staying, 0);
  Work work;
  if (reduces.greatest() > 0) {
    // A multiply and an add that feed an accumulator are one instruction.
    add_multiply_adds(nest, points * vectors * std::max(1.0, nest.flops_per_iteration * 0.5), turn, copies,
                      rates, constants, work);
    for (const Resource r : {Resource::kMultiplyAdds, Resource::kWaits})
      work[r] = select(reduces, work[r], 0);
  }
  work[Resource::kArithmetic] =
      select(reduces, 0, points * vectors * nest.wanted * nest.flops_per_iteration) / rates.fmas;
  work[Resource::kLoads] =
      turns * (loaded + constants.gathered_lane * turn.lanes + constants.free_broadcast * broadcasts) /
      rates.loads;
  work[Resource::kStores] = turns * turn.stores / rates.stores;
  work[Resource::kCode] =
      select(reduces,
             constants.long_code * (work[Resource::kMultiplyAdds] + work[Resource::kWaits]) *
                 log2(max(1, copies / constants.short_code)),
             0) +
      select(less(1, nest.row_vectors), constants.row_broadcast_cycles * turns * broadcasts, 0);
  work[Resource::kSpills] = select(reduces, spills(nest, target, held, tiles, constants), 0);
  if (leaves_registers(nest))
    work[Resource::kHandingOn] =
        constants.accumulator_cycles * points * vectors * nest.started / nest.reduce_extent;
  add_moves(nest, target, options, pace, work);
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

// Of two that run beside each other. Misses come in bursts, for which whoever is the longer has room as long
// as the shorter is far from it.
Value beside(const Value& a, const Value& b, double overlap) {
  const Value longer = max(a, b), share = min(a, b) / max(1e-9, longer);
  const Value squared = share * share;
  return longer * (1 + overlap * squared * squared * squared);
}

Value cycles_of(const Work& work, const RooflineOptions& options) {
  const Value fma = work[Resource::kMultiplyAdds] + work[Resource::kWaits];
  const Value &other = work[Resource::kArithmetic], &loads = work[Resource::kLoads],
              &stores = work[Resource::kStores];
  const Value busy = max(max(fma, other), max(loads, stores)) + work[Resource::kSpills] +
                     work[Resource::kCode] + work[Resource::kHandingOn];
  const Value moved = work[Resource::kL2] + work[Resource::kL3] + work[Resource::kMemory];
  const Value speedup = work.parallel / ceil(work.parallel / options.threads);
  return beside(busy, moved, options.constants.overlap) / speedup;
}

}  // namespace

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

Traffic traffic_of(const Nest& nest, Level level, double cache_bytes, const RooflineConstants& constants) {
  // From the outermost depth inwards, so that what is chosen last is the outermost whose lines, and those of
  // every depth inside, fit. The loop around it brings in the lines of all its turns once: what two turns
  // share stays from one to the next. What does not fit by little is lost in part.
  const Room& room = level == Level::kL1   ? constants.l1
                     : level == Level::kL2 ? constants.l2
                                           : constants.shared;
  const Room& sets = level == Level::kL1 ? constants.l1_sets : constants.l2_sets;
  std::vector<Value> of_all, rounds = {1};
  for (size_t depth = 0; depth < nest.loops.size(); ++depth) {
    of_all.push_back(lost(line_bytes(nest, depth), cache_bytes, room));
    rounds.push_back(rounds.back() * nest.loops[depth].extent);
  }
  Traffic traffic;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    Value lines = access.touched_lines[0].lines, runs = access.touched_lines[0].runs;
    for (size_t depth = 0; depth < nest.loops.size(); ++depth) {
      const LineCount& here = access.touched_lines[depth];
      const Value crowded = lost(crowded_bytes(access, depth, level), cache_bytes, sets);
      const Value gone = max(of_all[depth], crowded);
      lines += gone * (rounds[depth] * here.lines - lines);
      runs += gone * (rounds[depth] * here.runs - runs);
    }
    traffic.bytes += lines * kLineBytes * (access.is_store ? constants.written : 1);
    if (!access.is_store) traffic.runs += runs;
    if (access.is_constant) traffic.constant_runs += runs;
  }
  return traffic;
}

Pace pace_of(const target::Target& target, const RooflineOptions& options) {
  const FittedOn& there = options.fitted_on;
  const double hertz = hertz_of(options.measured, flops_a_cycle(target), rates_of(target).hertz);
  // A cycle there took as long as so many here.
  const double cycles = hertz / hertz_of(there.rates, there.flops_a_cycle, Rates().hertz);
  const auto scaled = [&](double constant, double MeasuredRates::*level) {
    const double here_per_s = options.measured.*level, there_per_s = there.rates.*level;
    return here_per_s > 0 && there_per_s > 0 ? constant * here_per_s / there_per_s / cycles : constant;
  };
  const RooflineConstants& constants = options.constants;
  return {.hertz = hertz,
          .l2_bytes = scaled(constants.l2_bytes, &MeasuredRates::l2_bytes_per_s),
          .l3_bytes = scaled(constants.l3_bytes, &MeasuredRates::shared_bytes_per_s),
          .memory_bytes = scaled(constants.memory_bytes, &MeasuredRates::memory_bytes_per_s)};
}

Roofline roofline_of(std::span<const Nest> nests, const target::Target& target,
                     const RooflineOptions& options) {
  return roofline_of(nests, target, options, pace_of(target, options));
}

Roofline roofline_of(std::span<const Nest> nests, const target::Target& target,
                     const RooflineOptions& options, const Pace& pace) {
  Value cycles = 0;
  Work waiting, all;  // of nests whose results are in registers; of all nests
  for (const Nest& nest : nests) {
    Work work = work_of(nest, target, options, pace);
    all = together(all, work);
    const bool takes = takes_registers(nest);
    if (takes || leaves_registers(nest)) work = waiting = together(waiting, work);
    if (leaves_registers(nest)) continue;
    cycles += cycles_of(work, options);
    if (takes) waiting = {};
  }
  cycles = max(1, cycles + cycles_of(waiting, options));
  Roofline roofline{.seconds = cycles / pace.hertz, .shares = {}};
  for (size_t r = 0; r < kResources; ++r) roofline.shares[r] = all.cycles[r] / cycles;
  return roofline;
}

}  // namespace tf::model
