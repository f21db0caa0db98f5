#pragma once
// Owns: the matrix instructions that a warp or four warps execute as one, a row of data each: shape, types, lane maps, text,
// how factors lie in shared memory. Does not know: loop IR, schedules, how kernels are printed.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "compiler/tensor/swizzle.h"
#include "compiler/tensor/type.h"
#include "compiler/tensor_units/lane_map.h"

namespace tf::tensor_units {

// c[m, n] += a[m, k] * b[k, n], on tiles that the 32 lanes of a warp hold in registers. A lane holds its elements in their
// order, as many to a 32-bit register as fit (f64: one in 64 bits). Sums of floats are added in any order, of products that
// are exact; those of integers wrap.
//
// A unit that reads shared memory takes a and b from there, which nobody holds, and the 128 lanes of four warps hold c. It
// runs asynchronously: between kFence and kWait (compiler/ir/stmt.h).
struct TensorUnit {
  std::string_view name;     // in schedules and loop IR
  std::string_view ptx;      // the instruction, without operands
  std::string_view feature;  // of a target that has it (compiler/target)
  int m = 0, n = 0, k = 0;
  tensor::Element a_element, b_element, c_element;
  // Of an f32 factor the instruction takes the upper 19 bits.
  bool takes_tf32 = false;
  LaneMap a, b, c;  // m x k, k x n, m x n
  bool reads_shared = false;
};

std::span<const TensorUnit> tensor_units();
// Null if there is none of that name.
const TensorUnit* find_tensor_unit(std::string_view name);

// Elements of one 32-bit register of a factor.
int elements_in_register(tensor::Element element);

// Registers of a factor lie in 8 x 8 pieces of the tile, or what 16 bytes hold in place of the second 8: register r of all
// lanes is one piece, lane l's part in line l / 4, at bytes l % 4 * 4. So `ldmatrix` fills them, where lines lie in one
// piece in memory. A piece's lines are rows of the tile or, with `lines_are_columns`, columns; it starts at (row, column).
struct Piece {
  int row = 0, column = 0;
};
Piece piece_of(const LaneMap& map, tensor::Element element, int register_number);
bool lines_are_columns(const LaneMap& map);

// A factor in shared memory, in elements: by how much the next row and the next column lie behind. So many columns lie so,
// the next so many `next_block` behind them; 0: all do.
struct SharedTile {
  int64_t row_step = 0, column_step = 0;
  int64_t block_columns = 0, next_block = 0;
  tensor::Swizzle swizzle;
};

// How such a unit is told of it. Terms are neighbours, or what is summed up apart: rows of a, columns of b.
struct SharedDescriptor {
  bool has_lines_of_terms = true;
  int64_t leading_bytes = 0, stride_bytes = 0;
  int swizzle_code = 0;
};

// Nothing if the unit cannot read the factor (a or b) so: lines of 128 bytes one behind the other, of which the 16-byte
// pieces are swizzled by the line's number; lines of anything but terms are of 16-bit elements.
std::optional<SharedDescriptor> describe(const TensorUnit& unit, bool is_a, const SharedTile& tile);

// Such lines in bytes, and an element's swizzle of lines. The units take those of 64 and 32 bytes, too; nothing uses or probes them.
inline constexpr int64_t kLineBytes = 128;
tensor::Swizzle line_swizzle(tensor::Element element, int64_t line_bytes = kLineBytes);

}  // namespace tf::tensor_units
