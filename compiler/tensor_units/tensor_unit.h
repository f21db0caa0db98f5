#pragma once
// Owns: the matrix instructions that a warp executes as one, a row of data each: shape, types, lane maps, text. Does not
// know: loop IR, schedules, how kernels are printed.

#include <span>
#include <string_view>

#include "compiler/tensor/type.h"
#include "compiler/tensor_units/lane_map.h"

namespace tf::tensor_units {

// c[m, n] += a[m, k] * b[k, n], on tiles that the 32 lanes of a warp hold in registers. A lane holds its elements in their
// order, as many to a 32-bit register as fit (f64: one in 64 bits). Sums of floats are added in any order, of products that
// are exact; those of integers wrap.
struct TensorUnit {
  std::string_view name;     // in schedules and loop IR
  std::string_view ptx;      // the instruction, without operands
  std::string_view feature;  // of a target that has it (compiler/target)
  int m = 0, n = 0, k = 0;
  tensor::Element a_element, b_element, c_element;
  // Of an f32 factor the instruction takes the upper 19 bits.
  bool takes_tf32 = false;
  LaneMap a, b, c;  // m x k, k x n, m x n
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

}  // namespace tf::tensor_units
