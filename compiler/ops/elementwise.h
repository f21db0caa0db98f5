#pragma once
// Owns: operators whose result at a place depends on the operands at the same (broadcast) place only. Each
// appends one stage. Operands broadcast as in NumPy: aligned at the last axis, extents equal or 1.

#include "compiler/ops/builder.h"
#include "compiler/ops/kind.h"

namespace tf::ops {

Buffer unary(Builder& b, UnaryKind kind, const Buffer& x);
inline Buffer relu(Builder& b, const Buffer& x) {
  return unary(b, UnaryKind::kRelu, x);
}

Buffer leaky_relu(Builder& b, const Buffer& x, double alpha);  // x < 0: alpha · x
Buffer clip(Builder& b, const Buffer& x, double low,
            double high);  // a bound that no element lies beyond is none
// Float to integer truncates; to bool is != 0.
Buffer cast(Builder& b, const Buffer& x, Element element);

// x and y have one element type; comparisons, and, or give bool.
Buffer binary(Builder& b, BinaryKind kind, const Buffer& x, const Buffer& y);
// The same with a scalar of x's element type.
Buffer binary(Builder& b, BinaryKind kind, const Buffer& x, double y);
// x / y. Whole numbers divide towards zero; a zero divisor, which has no answer, counts as one.
Expr quotient(const Expr& x, const Expr& y);
// condition ? x : y.
Buffer where(Builder& b, const Buffer& condition, const Buffer& x, const Buffer& y);
// x + bias[channel], the bias of rank 1 along `axis` of x.
Buffer bias_add(Builder& b, const Buffer& x, const Buffer& bias, int axis = 1);

// The extents that the operands broadcast to; nothing if they do not.
std::optional<std::vector<Expr>> broadcast_extents(std::span<const Buffer> operands);
// x at the place of a tensor that it broadcasts to.
Expr broadcast_at(const Buffer& x, Indices indices);

}  // namespace tf::ops
