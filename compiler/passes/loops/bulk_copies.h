#pragma once
// Owns: the boxes in which a copy engine copies a tile, as statements. Does not know: which tiles it may copy.

#include <vector>

#include "compiler/ir/stmt.h"

namespace tf::passes {

// A tile in shared memory that holds a part of a row-major tensor: of a ring of tiles, the one at `tile`.
struct BulkTile {
  ir::Buffer source;
  std::vector<ir::Expr> origin;  // of the part
  ir::Buffer target;             // one axis more than the source, the first, where there is a ring
  ir::Expr tile;                 // null: there is no ring
};

// Whether the boxes of such a target fit it: its last axis in lines, one behind the other along one axis, in blocks that begin
// where the pattern of its swizzle does.
bool can_copy_in_bulk(const ir::Buffer& source, const ir::Buffer& target);
// Whole lines: what of them is outside of the tensor is zeros.
ir::Stmt bulk_copies(const BulkTile& tile);

}  // namespace tf::passes
