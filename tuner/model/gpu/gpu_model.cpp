#include "tuner/model/gpu/gpu_model.h"

#include <algorithm>

#include "tuner/model/gpu/gpu_rates.h"
#include "tuner/model/gpu/occupancy.h"

namespace tf::model {
namespace {

using tensor::Scope;

constexpr double kSchedulers = 4;      // of a unit, each issues an instruction in a cycle
constexpr double kArithmeticWait = 4;  // cycles until a result can be used
constexpr double kLoadWait = 300;      // of what L2 mostly has
constexpr double kBarrierCycles = 20;  // and one more a warp
constexpr double kLaunchSeconds = 3e-6;
constexpr double kGlobalPass = 1.5;  // cycles of a pass through the first cache, against one of shared memory
constexpr double kLoopInstructions = 4;    // of a turn that is not unrolled: count, compare, jump, address
constexpr double kCacheShare = 0.7;        // of L2, from where on what is read again comes from memory
constexpr double kBeside = 0.1;            // of what runs beside the longest, what both see
constexpr size_t kBesideEachOther = 5;     // resources, the first ones
constexpr double kInFlight = 4;            // loads that a thread starts before it waits
constexpr double kUnitBytesPerCycle = 64;  // from L2
constexpr double kRegisterShare = 0.9;
constexpr double kMostCopies = 4096;  // statements: more take compilers seconds, and are never fast

// What one block asks of a unit, in cycles, and of the device in bytes.
struct BlockWork {
  Value arithmetic = 0, issue = 0, requests = 0, l2_bytes = 0;
  Value flops = 0;
  Value barriers = 0, waits = 0;  // of barriers, of loads in turns
  Value chains = 1;               // independent results of a thread
};

BlockWork work_of(const GpuLaunch& launch, double lanes) {
  BlockWork work;
  const Value warps = launch.warps();
  for (const GpuNest& nest : launch.nests) {
    const Value math = nest.turns * std::max(nest.is_reduction ? 1.0 : 0.5, nest.flops_per_turn / 2);
    Value instructions = math + nest.turns / nest.copies * kLoopInstructions, loads = 0;
    for (const GpuAccess& access : nest.accesses) {
      if (access.scope == Scope::kRegister) continue;
      instructions += access.requests;
      const bool is_global = access.scope == Scope::kGlobal;
      work.requests += warps * access.requests * access.passes * (is_global ? kGlobalPass : 1);
      if (!is_global) continue;
      // What a block reads again it finds in its first cache, mostly.
      work.l2_bytes += min(warps * access.requests * access.sectors * kSectorBytes, access.block_bytes);
      if (!access.is_store) loads += access.requests;
    }
    work.arithmetic += warps * math * kWarpLanes / lanes;
    work.issue += warps * instructions / kSchedulers;
    work.flops += launch.threads() * nest.turns * nest.flops_per_turn;
    if (nest.is_staging) work.barriers += nest.runs;
    work.waits += nest.is_staging ? nest.runs : loads / kInFlight;
    work.chains = max(work.chains, nest.is_reduction ? nest.accumulators : nest.copies);
  }
  return work;
}

// Of all blocks: what is read once, or again in each wave where the cache does not hold it.
Value memory_bytes(const GpuLaunch& launch, const Value& in_wave, const Value& waves, double cache_bytes,
                   const Value& l2_bytes) {
  const Value wave[3] = {min(launch.grid[0], in_wave), min(launch.grid[1], max(1, in_wave / launch.grid[0])),
                         min(launch.grid[2], max(1, in_wave / (launch.grid[0] * launch.grid[1])))};
  Value once = 0, by_waves = 0;
  for (const GpuNest& nest : launch.nests) {
    for (const GpuAccess& access : nest.accesses) {
      if (access.scope != Scope::kGlobal) continue;
      Value of_wave = access.block_bytes;
      for (size_t axis = 0; axis < 3; ++axis)
        of_wave *= max(1, access.along[axis] * wave[axis] / launch.grid[axis]);
      once += access.all_bytes();
      by_waves += of_wave;
    }
  }
  return select(less_equal(once, cache_bytes * kCacheShare), once,
                max(once, min(l2_bytes, by_waves * waves)));
}

BlockNeeds needs_of(const GpuLaunch& launch) {
  return {.threads = launch.threads(),
          .registers_per_thread = launch.registers,
          .shared_bytes = launch.shared_bytes};
}

// With registers to spare, because theirs are an estimate.
Value is_legal(const GpuLaunch& launch, const target::Target& target) {
  BlockNeeds needs = needs_of(launch);
  needs.registers_per_thread = needs.registers_per_thread / kRegisterShare;
  Value legal = less_equal(1, resident_blocks(needs, target));
  if (const int most = target.gpu.grid_yz_blocks; most > 0)
    legal = both(legal, both(less_equal(launch.grid[1], most), less_equal(launch.grid[2], most)));
  Value copies = 0;
  for (const GpuNest& nest : launch.nests) copies += nest.copies;
  return both(legal, less_equal(copies, kMostCopies));
}

Value& share_of(GpuCost& cost, GpuResource resource) {
  return cost.shares[static_cast<size_t>(resource)];
}

}  // namespace

GpuCost cost_of(const GpuLaunch& launch, const target::Target& target, const GpuPace& pace) {
  const double lanes = unit_lanes(target);
  const Value blocks = launch.blocks(), warps = launch.warps();
  const Value hertz = pace.flops / (pace.units * (2 * lanes));
  const BlockWork work = work_of(launch, lanes);
  GpuCost cost{.legal = is_legal(launch, target), .shares = {}};
  cost.resident_blocks = max(1, resident_blocks(needs_of(launch), target));
  // The unit with most blocks, and in how many turns it has them.
  const Value of_unit = ceil(blocks / pace.units);
  const Value resident = min(cost.resident_blocks, of_unit);
  const Value turns = ceil(of_unit / resident);
  const Value busy = min(1, resident * warps * work.chains / (kSchedulers * kArithmeticWait));
  const auto seconds = [&](const Value& cycles_of_block) { return of_unit * cycles_of_block / hertz; };
  cost.flops = blocks * work.flops;
  cost.l2_bytes = blocks * work.l2_bytes;
  cost.memory_bytes = memory_bytes(launch, pace.units * cost.resident_blocks,
                                   ceil(blocks / (pace.units * cost.resident_blocks)),
                                   static_cast<double>(target.caches.l2_bytes), cost.l2_bytes);
  share_of(cost, GpuResource::kArithmetic) = seconds(work.arithmetic) / busy;
  share_of(cost, GpuResource::kIssue) = seconds(work.issue);
  share_of(cost, GpuResource::kRequests) = seconds(work.requests);
  share_of(cost, GpuResource::kL2) =
      max(seconds(work.l2_bytes / kUnitBytesPerCycle), cost.l2_bytes / pace.l2_bytes);
  share_of(cost, GpuResource::kMemory) = cost.memory_bytes / pace.memory_bytes;
  Value longest = 0, all = 0;
  for (const Value& time : std::span(cost.shares).first(kBesideEachOther)) {
    longest = max(longest, time);
    all += time;
  }
  // While one waits, the unit's other warps work: so long as they have something to do.
  const Value cycles_of_block = longest * hertz / of_unit;
  const Value others = resident - select(less(0, work.barriers), 1, 1 / warps);
  const Value hidden = others * cycles_of_block / max(1, work.waits);
  share_of(cost, GpuResource::kLatency) = turns * work.waits * max(0, kLoadWait - hidden) / hertz;
  share_of(cost, GpuResource::kBarriers) = turns * work.barriers * 2 * (kBarrierCycles + warps) / hertz;
  share_of(cost, GpuResource::kLaunch) = kLaunchSeconds;
  cost.seconds = longest + kBeside * (all - longest) + share_of(cost, GpuResource::kLatency) +
                 share_of(cost, GpuResource::kBarriers) + kLaunchSeconds;
  for (Value& share : cost.shares) share = share / cost.seconds;
  return cost;
}

GpuCost cost_of(std::span<const GpuLaunch> launches, const target::Target& target, const GpuPace& pace) {
  GpuCost sum{.shares = {}};
  for (const GpuLaunch& launch : launches) {
    const GpuCost cost = cost_of(launch, target, pace);
    sum.legal = both(sum.legal, cost.legal);
    for (size_t r = 0; r < kGpuResources; ++r) sum.shares[r] += cost.shares[r] * cost.seconds;
    sum.seconds += cost.seconds;
    sum.resident_blocks = max(sum.resident_blocks, cost.resident_blocks);
    sum.l2_bytes += cost.l2_bytes;
    sum.memory_bytes += cost.memory_bytes;
    sum.flops += cost.flops;
  }
  for (Value& share : sum.shares) share = share / max(1e-12, sum.seconds);
  return sum;
}

}  // namespace tf::model
