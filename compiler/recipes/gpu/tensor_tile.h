#pragma once
// Owns: what schedules with matrix instructions share: the instruction, the tile of a block, its loops. Does not know: what
// the factors are copies of.

#include <optional>
#include <string>
#include <vector>

#include "compiler/recipes/gpu/matrix_form.h"
#include "compiler/recipes/gpu/tensor_product.h"
#include "compiler/recipes/steps.h"
#include "compiler/target/target.h"
#include "compiler/tensor_units/tensor_unit.h"

namespace tf::recipes {

inline constexpr int64_t kCopyBytes = 16;  // that a thread copies at once

// Of an instruction that reads shared memory: the terms of a line there.
inline constexpr int64_t kLineSteps = 4;

// An instruction that reads shared memory has factors there in lines of 128 bytes, swizzled: elements `along` a dimension, one line
// for each index `across`.
schedule::OpenLayout lines_layout(int rank, int along, int across, tensor::Element element);

// The instructions of the target: all of four warps, then the one of one warp with the most terms.
std::vector<const tensor_units::TensorUnit*> units_for(const target::Target& target, tensor::Element a,
                                                       tensor::Element b, tensor::Element c, bool tf32);

// How f32 is multiplied: as it is, which no instruction does; stored in 16 bits; by its upper 19 bits.
struct TensorMethod {
  const char* suffix;  // of the family
  std::optional<tensor::Element> narrow;
  bool tf32 = false;
};
// Those that the numerics allow.
std::vector<TensorMethod> tensor_methods(const tensor::KernelSpec& kernel);

// A tile whose sizes may be open.
struct OpenTensorTile {
  Size warps_m, warps_n, tiles_m, tiles_n, steps, stages, group, bulk;
};
OpenTensorTile opened(const TensorTile& by_default, const tensor_units::TensorUnit& unit,
                      const target::Target& target, Sketch& sketch);

// No larger than the product.
TensorTile fitted(TensorTile tile, const tensor_units::TensorUnit& unit, const ProductExtents& extents);
// Smaller where a GPU would else have work for few of its units; how many it has is not part of the target.
TensorTile spread(TensorTile tile, const tensor_units::TensorUnit& unit, const ProductExtents& extents);
int64_t blocks_of(const TensorTile& tile, const tensor_units::TensorUnit& unit,
                  const ProductExtents& extents);
// The usual one, as small as the product asks for.
TensorTile default_tile(const tensor_units::TensorUnit& unit, const ProductExtents& extents);
// Whether an instruction of four warps, with its usual tile, leaves work for all units of a GPU.
bool fills(const tensor_units::TensorUnit& unit, const ProductExtents& extents);

// Instructions for the product, the best guess first: of four warps, the one that leaves work for all units and computes the
// fewest columns; then that of one warp, which is first for a few rows; then those of which most columns or terms would be
// empty. Without those that are far wider than the product.
std::vector<const tensor_units::TensorUnit*> in_order(std::vector<const tensor_units::TensorUnit*> units,
                                                      const ProductExtents& extents);

// The output's loops: blocks, warps, lanes, then what a lane holds of c. Its loops so far are `count` (may be empty: none), m and
// n, in this order. Returns the loop over lanes.
std::string append_lanes(const std::string& output, const std::string& count, const std::string& m,
                         const std::string& n, const tensor_units::TensorUnit& unit,
                         const OpenTensorTile& tile, Steps& steps);

// The sums: steps of shared memory, then of the instruction, then its tiles. The stage has `rank` axes, the last of them m and n.
// Returns the first of the instruction's loops.
std::string append_sums(const std::string& reduction, size_t rank, const tensor_units::TensorUnit& unit,
                        const OpenTensorTile& tile, Steps& steps);

// The loop over `all` elements, or vectors, that the block's threads share.
void append_threads(const std::string& copy, const std::string& all, const tensor_units::TensorUnit& unit,
                    const OpenTensorTile& tile, Steps& steps);

}  // namespace tf::recipes
