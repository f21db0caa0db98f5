#pragma once
// Owns: the schedule of a kernel that nobody has tuned: a heuristic choice, always legal, by counting
// registers and loads.

#include "compiler/schedule/ports.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/structure.h"
#include "compiler/target/target.h"

namespace tf::schedule {

// The workload must be bound. Works for every workload; parallel loops only if threads > 1.
Schedule default_schedule(const tensor::Workload& workload, const PortLayouts& ports,
                          const target::Target& target, int threads);

// The steps that make a workload with an anchor ready for tiling: producers placed, epilogue inlined, the
// anchor split off if it is the output itself, constants' layouts. `reduction` and `output` receive the names
// to tile.
struct Prepared {
  std::string reduction, output;
  int vector_axis = 0;
  int64_t lanes = 1;
  int64_t reduce_block = 1;  // by which the first reduce axis is blocked in the input's layout; 1: it is not
};
// What the anchor reads: copied to memory first, or computed in place.
enum class Producers : uint8_t { kStored, kInlined };
Prepared append_preparation(const tensor::Workload& workload, const Structure& structure,
                            const PortLayouts& ports, const target::Target& target, int threads,
                            Producers producers, std::vector<Step>& steps);

// The sizes that the default schedule gives a register tile; also where searches start.
struct DefaultTile {
  std::vector<int64_t> tiles;         // one an output axis: elements, for the vector axis vectors
  std::vector<int64_t> reduce_inner;  // one a reduce axis: the inner factor
  int fused = 1;                      // with threads: so many outer loops are worth one parallel loop
};
DefaultTile default_tile(const tensor::Stage& anchor, const Prepared& prepared, const target::Target& target,
                         int threads);

// How well a register tile of `rows` broadcasts by `vectors` vectors uses a core, in (0, 1]: FMAs over the
// cycles that FMA pipes, load ports and latency need; 0 if the accumulators do not fit the registers.
double tile_efficiency(int64_t rows, int64_t vectors, const target::Target& target);

}  // namespace tf::schedule
