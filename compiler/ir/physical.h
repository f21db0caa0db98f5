#pragma once
// Owns: where an element lies in memory: the map from logical indices to a physical element offset that a
// buffer's layout states (compiler/runtime/layout.h's meaning, as expressions). Does not know: bytes,
// alignment.

#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/stmt.h"

namespace tf::ir {

// One physical axis takes (index[axis] // divisor) % modulus; modulus 0: no remainder is taken.
struct PhysicalAxis {
  int axis = 0;
  int64_t divisor = 1;
  int64_t modulus = 0;
};

// Outermost first. Row-major buffers have one a logical axis.
std::vector<PhysicalAxis> physical_axes(const BufferNode& buffer);

// Extents of the physical axes, padding included.
std::vector<Expr> physical_extents(const BufferNode& buffer);

// Elements of storage: the product of the physical extents, and what a swizzle needs to stay inside.
Expr physical_elements(const BufferNode& buffer);

// The element offset of the logical indices (scalars or vectors), which the buffer's swizzle is of. Simplify it afterwards.
Expr physical_offset(const BufferNode& buffer, std::span<const Expr> indices);

// How a tile of that shape lies in the buffer's offsets, by constant steps; nothing if it does not, or its rows in blocks. A tile of
// blocks starts with one, and others stay within one.
std::optional<tensor_units::SharedTile> shared_tile(const MatrixTile& tile, int rows, int columns);

}  // namespace tf::ir
