#include "compiler/ir/physical.h"

#include <algorithm>

#include "base/check.h"

namespace tf::ir {
namespace {

// Of a direction of a tile, `extent` elements along one logical axis.
struct Along {
  int64_t step = 0, block = 0, next_block = 0;
};

std::optional<Along> along(const BufferNode& buffer, const std::vector<int64_t>& steps, int extent) {
  const auto dimension = std::ranges::find(steps, 1);
  if (dimension == steps.end()) return std::nullopt;
  const auto logical = static_cast<int>(dimension - steps.begin());
  const std::vector<PhysicalAxis> axes = physical_axes(buffer);
  const std::vector<Expr> extents = physical_extents(buffer);
  std::optional<Along> found;
  int64_t pitch = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const bool is_inner = axes[i].axis == logical && !found;
    if (is_inner && axes[i].divisor != 1) return std::nullopt;
    if (is_inner) found = {.step = pitch, .block = axes[i].modulus};
    if (axes[i].axis == logical && !is_inner && extent > found->block) {
      if (found->next_block != 0 || axes[i].divisor != found->block || extent % found->block != 0)
        return std::nullopt;
      found->next_block = pitch;
    }
    const std::optional<int64_t> length = tensor::as_int(extents[i]);
    if (!length && i > 0) return std::nullopt;
    pitch *= length.value_or(0);
  }
  if (found && found->next_block == 0) found->block = 0;
  return found;
}

}  // namespace

std::vector<PhysicalAxis> physical_axes(const BufferNode& buffer) {
  std::vector<PhysicalAxis> out;
  if (buffer.layout.is_row_major()) {
    for (int axis = 0; axis < buffer.rank(); ++axis) out.push_back({axis, 1, 0});
    return out;
  }
  // From the inside: blocks of one axis nest in the order written, so each one's divisor is the product of
  // those that come after it, and the unblocked axis stands above all of its blocks wherever it is written.
  std::vector<int64_t> inner(static_cast<size_t>(buffer.rank()), 1);
  out.resize(buffer.layout.axes.size());
  for (size_t i = out.size(); i-- > 0;) {
    const tensor::LayoutAxis& axis = buffer.layout.axes[i];
    TF_CHECK(axis.axis >= 0 && axis.axis < buffer.rank()) << "layout of another rank on " << buffer.name;
    int64_t& below = inner[static_cast<size_t>(axis.axis)];
    if (axis.block == 0) continue;
    out[i] = {axis.axis, below, axis.block};
    below *= axis.block;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const tensor::LayoutAxis& axis = buffer.layout.axes[i];
    if (axis.block == 0) out[i] = {axis.axis, inner[static_cast<size_t>(axis.axis)], 0};
  }
  return out;
}

std::vector<Expr> physical_extents(const BufferNode& buffer) {
  std::vector<Expr> out;
  for (const PhysicalAxis& axis : physical_axes(buffer)) {
    const Expr& extent = buffer.extents[static_cast<size_t>(axis.axis)];
    out.push_back(axis.modulus != 0 ? tensor::imm(axis.modulus)
                                    : tensor::ceil_div(extent, tensor::imm(axis.divisor)));
  }
  return out;
}

Expr physical_elements(const BufferNode& buffer) {
  Expr product = tensor::imm(1);
  for (const Expr& extent : physical_extents(buffer)) product = product * extent;
  if (const tensor::Swizzle& swizzle = buffer.layout.swizzle)
    product = tensor::ceil_div(product, tensor::imm(swizzle.block())) * swizzle.block();
  return product;
}

Expr physical_offset(const BufferNode& buffer, std::span<const Expr> indices) {
  TF_CHECK(indices.size() == static_cast<size_t>(buffer.rank()))
      << "one index a dimension of " << buffer.name;
  const std::vector<PhysicalAxis> axes = physical_axes(buffer);
  const std::vector<Expr> extents = physical_extents(buffer);
  std::vector<Expr> at;
  for (const PhysicalAxis& axis : axes) {
    Expr index = tensor::floor_div(indices[static_cast<size_t>(axis.axis)], axis.divisor);
    at.push_back(axis.modulus != 0 ? tensor::floor_mod(index, axis.modulus) : index);
  }
  Expr offset = tensor::imm(0);
  for (size_t i = 0; i < at.size(); ++i) offset = offset * extents[i] + at[i];
  return offset;
}

std::optional<tensor_units::SharedTile> shared_tile(const MatrixTile& tile, int rows, int columns) {
  if (tile.buffer->rank() == 1)
    return tensor_units::SharedTile{tile.row_steps[0], tile.column_steps[0], tile.block_columns,
                                    tile.next_block, tile.buffer->layout.swizzle};
  const std::optional<Along> row = along(*tile.buffer, tile.row_steps, rows),
                             column = along(*tile.buffer, tile.column_steps, columns);
  if (!row || !column || row->next_block != 0) return std::nullopt;
  return tensor_units::SharedTile{row->step, column->step, column->block, column->next_block,
                                  tile.buffer->layout.swizzle};
}

}  // namespace tf::ir
