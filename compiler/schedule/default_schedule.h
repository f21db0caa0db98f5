#pragma once
// Owns: the schedule of a kernel that nobody has tuned: a heuristic choice, always legal, by counting
// registers and loads.

#include "compiler/schedule/matrix_product.h"
#include "compiler/schedule/numerics.h"
#include "compiler/schedule/ports.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/structure.h"
#include "compiler/schedule/tiling.h"
#include "compiler/target/target.h"

namespace tf::schedule {

// The workload must be bound. Works for every workload; parallel loops only if threads > 1. Uses no numerics
// but those allowed.
Schedule default_schedule(const tensor::Workload& workload, const PortLayouts& ports,
                          const target::Target& target, int threads, const Numerics& allowed = {});

// The steps that make a workload with an anchor ready for tiling: producers placed, epilogue inlined, the
// anchor split off if it is the output itself. `reduction` and `output` receive the names to tile.
struct Prepared {
  std::string reduction, output;
  int vector_axis = 0;
  int64_t lanes = 1;
  int64_t reduce_block = 1;  // by which the first reduce axis is blocked in the input's layout; 1: it is not
  Sums sums = Sums::kWhole;  // kShared: `output` has the parts as first axis
  int64_t group = 1;         // of terms that one dot-product instruction takes; 1: multiply-adds
};
struct PreparationOptions {
  // What the anchor reads: copied to memory first, or computed in place.
  enum class Producers : uint8_t { kStored, kInlined } producers = Producers::kStored;
  // The anchor's reduction, which is one axis unless it is summed whole; `partial_sum` is the length of a
  // part.
  Sums sums = Sums::kWhole;
  Size partial_sum = 0;
};
using Producers = PreparationOptions::Producers;
// What the default schedule does: what each element of is read but a few times (a window that slides over one
// channel, with channels innermost) is not worth a copy.
Producers default_producers(const tensor::Workload& workload, const Structure& structure,
                            const PortLayouts& ports);
Prepared append_preparation(const tensor::Workload& workload, const Structure& structure,
                            const PortLayouts& ports, const target::Target& target, int threads,
                            const PreparationOptions& options, std::vector<Step>& steps);

// The sizes that the default schedule gives a register tile; also where searches start.
struct DefaultTile {
  std::vector<int64_t> tiles;         // one an output axis: elements, for the vector axis vectors
  std::vector<int64_t> blocks;        // one an output axis: tiles of a block
  std::vector<int64_t> reduce_inner;  // one a reduce axis: the inner factor, of the first in groups
  int64_t unroll = 0;                 // statements that unrolling the reduction's inner loops may make
  int fused = 1;                      // with threads: so many outer loops are worth one parallel loop
};
DefaultTile default_tile(const tensor::Stage& anchor, const Prepared& prepared, const target::Target& target,
                         int threads);

// A register tile of the anchor with blocks and tiles of its axes, and everything else but threads; `fused`
// of its block loops are worth one parallel loop.
RegisterTile register_tile(const tensor::Stage& anchor, const Prepared& prepared, std::vector<AxisTile> axes,
                           int fused);

// What the default schedule does with a matrix product beyond tiles; nothing of it for other anchors.
ProductChoice choose_product(const tensor::Workload& workload, const Structure& structure,
                             const PortLayouts& ports, const target::Target& target, int threads);

// How well a register tile of `rows` broadcasts by `vectors` vectors uses a core, in (0, 1]: FMAs over the
// cycles that FMA pipes, load ports and latency need; 0 if the accumulators do not fit the registers.
double tile_efficiency(int64_t rows, int64_t vectors, const target::Target& target);

}  // namespace tf::schedule
