#include "compiler/ir/physical.h"

#include "base/check.h"

namespace tf::ir {
namespace {

// a XOR b in the low `bits` bits, the rest of a unchanged: a sum of bits modulo 2.
Expr swizzle(const Expr& a, const Expr& b, int bits) {
  Expr out = tensor::floor_div(a, int64_t{1} << bits) * (int64_t{1} << bits);
  for (int i = 0; i < bits; ++i) {
    const int64_t weight = int64_t{1} << i;
    out = out + tensor::floor_mod(tensor::floor_div(a, weight) + tensor::floor_div(b, weight), 2) * weight;
  }
  return out;
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
  if (const int bits = buffer.layout.swizzle_bits; bits > 0 && at.size() >= 2)
    at.back() = swizzle(at.back(), at[at.size() - 2], bits);
  Expr offset = tensor::imm(0);
  for (size_t i = 0; i < at.size(); ++i) offset = offset * extents[i] + at[i];
  return offset;
}

}  // namespace tf::ir
