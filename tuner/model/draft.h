#pragma once
// Owns: the analytic draft model: seconds of a candidate from its loop nests and the target's data alone,
// without training. A roofline a nest: the larger of the FMA pipes' time, the load ports' time, and the time
// to move each cache level's misses (Williams et al., "Roofline", CACM 2009, with one roof a level). Good for
// ranking, not for prediction.

#include <span>

#include "compiler/target/target.h"
#include "tuner/model/nest.h"

namespace tf::model {

Value draft_seconds(std::span<const Nest> nests, const target::Target& target, int threads);

// Bytes that all runs of the nest bring in from beyond a cache of this size: the outermost depth whose
// touched bytes fit is loaded once an iteration of the loops around it.
Value traffic_bytes(const Nest& nest, double cache_bytes);
// Bytes that a run of the loops from that depth inwards touches.
Value footprint_bytes(const Nest& nest, size_t depth);

}  // namespace tf::model
