#pragma once
// Owns: making a workload with an anchor ready for a register tile: what comes before and after it finds its
// place, and the tile its axes. Does not know: sizes.

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/recipes/emit/tiling.h"
#include "compiler/recipes/shape/dot_products.h"
#include "compiler/recipes/shape/matrix_product.h"
#include "compiler/recipes/shape/structure.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::recipes {

// The steps that make a workload with an anchor ready for tiling: producers placed, epilogue inlined, the
// anchor split off if it is the output itself. `reduction` and `output` receive the names to tile.
struct Prepared {
  std::string reduction, output;
  int vector_axis = 0;
  int64_t lanes = 1;
  int64_t reduce_block = 1;  // by which the first reduce axis is blocked in the input's layout; 1: it is not
  Sums sums = Sums::kWhole;  // kParallelSplitK: `output` has the parts as first axis
  Columns columns = Columns::kAsGiven;
  int64_t group = 1;  // of terms that one dot-product instruction takes; 1: multiply-adds
};

// What the anchor reads: copied to memory first, or computed in place.
enum class Producers : uint8_t { kStored, kInlined };

// In what ways to tile a reduction differ beyond sizes.
struct ReductionForm {
  Producers producers = Producers::kStored;
  Storage storage = Storage::kDefined;  // one of storages() (narrow_factors.h)
  Sums sums = Sums::kWhole;  // of the anchor's reduction, which is one axis unless it is summed whole
  Columns columns = Columns::kAsGiven;  // of a matrix product; packed by append_operand_storage
};

// What producers and storage can be, what suits the kernel by estimate first. The sums are whole, columns as given.
std::vector<ReductionForm> reduction_forms(const tensor::KernelSpec& kernel, const Structure& structure);

// Everything of Prepared that does not depend on steps.
Prepared prepared_frame(const tensor::KernelSpec& kernel, const Structure& structure);

// Of a form that sums in parts: how long a part is, and a number that divides every length that it can have.
struct PartLength {
  Size size = 0;
  int64_t multiple_of = 1;
};
Prepared append_preparation(const tensor::KernelSpec& kernel, const Structure& structure,
                            const ReductionForm& form, const PartLength& part, Steps& steps);

// A register tile of the anchor with blocks and tiles of its axes, and everything else but threads; `fused`
// of its block loops are worth one parallel loop.
RegisterTile register_tile(const tensor::Stage& anchor, const Prepared& prepared, std::vector<AxisTile> axes,
                           int fused);

}  // namespace tf::recipes
