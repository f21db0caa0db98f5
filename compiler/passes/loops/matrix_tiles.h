#pragma once
// Owns: tiles of matrix statements in buffers, and loops over them. Does not know: stages, schedules.

#include <functional>
#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/tensor/symbolic_integer.h"

namespace tf::passes {

// The tile whose first element stands at the indices; `row` and `column` are the dimensions that its rows and columns run
// along.
ir::MatrixTile tile_at(const ir::Buffer& buffer, std::vector<ir::Expr> indices, int row, int column);

// Unrolled loops over the tiles of a region of such extents, around what `make` gives for the indices of each.
ir::Stmt over_tiles(const std::vector<tensor::SymInt>& region, const tensor_units::LaneMap& map, int row,
                    int column, const std::function<ir::Stmt(std::vector<ir::Expr>)>& make);

}  // namespace tf::passes
