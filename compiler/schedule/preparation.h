#pragma once
// Owns: making a workload with an anchor ready for a register tile: what comes before and after it finds its
// place, and the tile its axes. Does not know: sizes.

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/schedule/matrix_product.h"
#include "compiler/schedule/structure.h"
#include "compiler/schedule/tiling.h"
#include "compiler/target/target.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::schedule {

// The steps that make a workload with an anchor ready for tiling: producers placed, epilogue inlined, the
// anchor split off if it is the output itself. `reduction` and `output` receive the names to tile.
struct Prepared {
  std::string reduction, output;
  int vector_axis = 0;
  int64_t lanes = 1;
  int64_t reduce_block = 1;  // by which the first reduce axis is blocked in the input's layout; 1: it is not
  Sums sums = Sums::kWhole;  // kParallelSplitK: `output` has the parts as first axis
  int64_t group = 1;         // of terms that one dot-product instruction takes; 1: multiply-adds
};
struct PreparationOptions {
  // What the anchor reads: copied to memory first, or computed in place.
  enum class Producers : uint8_t { kStored, kInlined } producers = Producers::kStored;
  // The anchor's reduction, which is one axis unless it is summed whole; `partial_sum` is the length of a
  // part.
  Sums sums = Sums::kWhole;
  Size partial_sum = 0;
  Storage storage = Storage::kDefined;  // one of storages() (narrow_factors.h)
  Columns columns = Columns::kAsGiven;  // of a matrix product; packed by append_operand_storage
};
using Producers = PreparationOptions::Producers;
// What the default schedule does: what each element of is read but a few times (a window that slides over one
// channel, with channels innermost) is not worth a copy.
Producers default_producers(const tensor::Workload& workload, const Structure& structure,
                            const tensor::PortLayouts& ports);
// Everything of Prepared that does not depend on steps.
Prepared prepared_frame(const tensor::Workload& workload, const Structure& structure,
                        const tensor::PortLayouts& ports, const target::Target& target);
Prepared append_preparation(const tensor::Workload& workload, const Structure& structure,
                            const tensor::PortLayouts& ports, const target::Target& target, int threads,
                            const PreparationOptions& options, std::vector<Step>& steps);

// A register tile of the anchor with blocks and tiles of its axes, and everything else but threads; `fused`
// of its block loops are worth one parallel loop.
RegisterTile register_tile(const tensor::Stage& anchor, const Prepared& prepared, std::vector<AxisTile> axes,
                           int fused);

}  // namespace tf::schedule
