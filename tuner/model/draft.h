#pragma once
// Owns: the analytic draft model: seconds of a candidate from its loop nests and the target's data alone,
// without training. A roofline a nest: the largest of the FMA pipes' time, the load and store ports' time,
// and the time to move each cache level's misses (Williams et al., "Roofline", CACM 2009, with one roof a
// level).

#include <cstdint>
#include <span>

#include "compiler/target/target.h"
#include "tuner/model/nest.h"

namespace tf::model {

struct Draft {
  Value seconds = 0;
  // Of that time on one thread, how much each part of the core is at work: they overlap. Multiply-adds, other
  // arithmetic, load and store ports, what overlaps with nothing, and moves between levels of cache.
  Value fma = 0, other = 0, loads = 0, stores = 0, extra = 0, moved = 0;
};
Draft draft_of(std::span<const Nest> nests, const target::Target& target, int threads);

// Whether lines that are a large power of two apart crowd out each other: in a first-level cache they do;
// beyond, pages lie anywhere.
enum class Sets : uint8_t { kFew, kAny };

// Bytes that all runs of the nest bring in, in whole lines, from beyond a cache of this size.
Value traffic_bytes(const Nest& nest, double cache_bytes, Sets sets);
// Bytes that a run of the loops from that depth inwards touches.
Value footprint_bytes(const Nest& nest, size_t depth);

}  // namespace tf::model
