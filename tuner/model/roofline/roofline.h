#pragma once
// Owns: the analytic roofline model: seconds of a candidate from its loop nests and the target's data alone,
// without training. A roofline a nest (Williams et al., "Roofline", CACM 2009) with two roofs. One is what
// keeps the core busy: the longest of the multiply-adds with their waits, other arithmetic, the load ports
// and the store ports, and on top of it spills, long code and the handing on of sums. The other is what
// moves: the times of the lines from L2, L3 and memory, added up. The longer one counts, and a share of it
// more where the shorter is about as long (RooflineConstants::overlap). Of nests that hand sums on in
// registers, the resources are added before.

#include <array>
#include <cstdint>
#include <span>

#include "compiler/target/target.h"
#include "tuner/model/nests/nest.h"
#include "tuner/model/roofline/measured_rates.h"
#include "tuner/model/roofline/roofline_constants.h"

namespace tf::model {

// What of a core a candidate keeps busy, or waits for.
enum class Resource : uint8_t {
  kMultiplyAdds,  // the pipes
  kWaits,         // of accumulators for themselves, where there are too few
  kArithmetic,    // other than multiply-adds
  kLoads,         // ports
  kStores,
  kSpills,     // of operands that the registers have no room for
  kCode,       // too long for what holds decoded instructions
  kHandingOn,  // sums cleared, and handed to what reads them
  kL2,         // lines from there
  kL3,
  kMemory,
};
inline constexpr size_t kResources = 11;

struct Roofline {
  Value seconds = 0;
  // Of that time on one thread, how long each resource is at work: they overlap.
  std::array<Value, kResources> shares;
};
struct RooflineOptions {
  int threads = 1;
  // Of other memory that a network touches between two runs of the kernel (graph::Task): what is given at
  // build time is still in a cache that holds that much. 0: the kernel runs alone.
  uint64_t reuse_distance_bytes = 0;
  RooflineConstants constants = {};
  // Of the machine that runs it, and of the one that the constants are of: the clock is by the first, each
  // level's bytes a cycle by how it stands beside the second. What is not measured is as the constants say.
  MeasuredRates measured = {};
  FittedOn fitted_on = kFittedOn;
};

// What a machine gives: cycles a second, and bytes a cycle from each level.
struct Pace {
  Value hertz, l2_bytes, l3_bytes, memory_bytes;
};
// By what the options say was measured: constants.
Pace pace_of(const target::Target& target, const RooflineOptions& options);

// On a machine of that pace, or of the one that the options tell.
Roofline roofline_of(std::span<const Nest> nests, const target::Target& target,
                     const RooflineOptions& options, const Pace& pace);
Roofline roofline_of(std::span<const Nest> nests, const target::Target& target,
                     const RooflineOptions& options = {});

// A level of cache. Lines that are a large power of two apart crowd out each other in the first two; beyond,
// pages lie anywhere.
enum class Level : uint8_t { kL1, kL2, kShared };

// What all runs of the nest bring in, in whole lines, from beyond a cache of that level and size.
struct Traffic {
  Value bytes = 0;
  Value runs = 0;           // of lines beside each other, in the order in which they are read
  Value constant_runs = 0;  // of them, the constants'
};
Traffic traffic_of(const Nest& nest, Level level, double cache_bytes,
                   const RooflineConstants& constants = {});

// Bytes that a run of the loops from that depth inwards touches, in whole lines.
Value line_bytes(const Nest& nest, size_t depth);
// What of a cache of that level the lines take that crowd most.
Value crowded_bytes(const Nest& nest, size_t depth, Level level);

}  // namespace tf::model
