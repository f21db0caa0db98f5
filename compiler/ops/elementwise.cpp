#include "compiler/ops/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "compiler/ops/operations.h"
#include "compiler/tensor/rebuild.h"

namespace tf::ops {
namespace {

Expr number(const Expr& like, double value) {
  return tensor::imm(like->type(), value);
}

Expr unary_value(UnaryKind kind, const Expr& x) {
  if (const auto function = intrinsic_of(kind)) return tensor::call(*function, {x});
  switch (kind) {
    case UnaryKind::kNeg:
      return -x;
    case UnaryKind::kAbs:
      return abs(x);
    case UnaryKind::kRelu:
      return tensor::is_unsigned(x->type().element) ? x : max(x, number(x, 0));
    case UnaryKind::kReciprocal:
      return number(x, 1) / x;
    case UnaryKind::kNot:
      return tensor::logical_not(x);
    default:
      return x;  // kIdentity
  }
}

bool unary_takes(UnaryKind kind, Element element) {
  switch (kind) {
    case UnaryKind::kIdentity:
      return true;
    case UnaryKind::kNot:
      return element == Element::kBool;
    case UnaryKind::kNeg:
    case UnaryKind::kAbs:
    case UnaryKind::kRelu:
      return element != Element::kBool;
    default:
      return tensor::is_float(element);
  }
}

bool gives_bool(BinaryKind kind) {
  return kind >= BinaryKind::kEqual;
}

bool binary_takes(BinaryKind kind, Element element) {
  switch (kind) {
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
      return element == Element::kBool;
    case BinaryKind::kEqual:
      return true;
    case BinaryKind::kFmod:
      return tensor::is_float(element);
    case BinaryKind::kBitAnd:
    case BinaryKind::kBitOr:
    case BinaryKind::kBitXor:
      return !tensor::is_float(element) && element != Element::kBool;
    default:
      return element != Element::kBool;
  }
}

// Of whole numbers in i64, whose low bits are those of narrower ones.
Expr power(const Expr& x, const Expr& y) {
  if (!tensor::is_float(x->type().element)) {
    const Type wide{Element::kInt64, 1};
    return cast(x->type(), tensor::call(tensor::Intrinsic::kPow, {cast(wide, x), cast(wide, y)}));
  }
  const auto* exponent = tensor::as<tensor::FloatImm>(y);
  if (exponent && exponent->value == 2) return x * x;
  return tensor::call(tensor::Intrinsic::kPow, {x, y});
}

Expr binary_value(BinaryKind kind, const Expr& x, const Expr& y) {
  if (const auto operation = operation_of(kind)) return tensor::binary(*operation, x, y);
  switch (kind) {
    case BinaryKind::kDiv:
      return quotient(x, y);
    case BinaryKind::kFmod:
      return tensor::call(tensor::Intrinsic::kFmod, {x, y});
    case BinaryKind::kBitAnd:
      return tensor::call(tensor::Intrinsic::kBitAnd, {x, y});
    case BinaryKind::kBitOr:
      return tensor::call(tensor::Intrinsic::kBitOr, {x, y});
    case BinaryKind::kBitXor:
      return tensor::call(tensor::Intrinsic::kBitXor, {x, y});
    default:
      return power(x, y);
  }
}

// What an element can be; of floats, anything.
std::pair<double, double> range_of(Element element) {
  if (tensor::is_float(element) || element == Element::kBool) return {-INFINITY, INFINITY};
  const int bits = 8 * tensor::element_bytes(element);
  if (tensor::is_unsigned(element)) return {0.0, std::ldexp(1, bits) - 1};
  const double end = std::ldexp(1, bits - 1);
  return {-end, end - 1};
}

// One stage over x's extents.
Buffer map(Builder& b, std::string_view name, const Buffer& x, const std::function<Expr(const Expr&)>& f) {
  if (b.failed()) return x;
  b.label(name);
  return b.compute(std::string(name), x->element, x->extents, [&](Indices i) { return f(at(x, i)); });
}

bool is_one(const Expr& extent) {
  return tensor::as_int(extent) == 1;
}

}  // namespace

Expr quotient(const Expr& x, const Expr& y) {
  if (tensor::is_float(x->type().element)) return x / y;
  const Expr zero = number(x, 0), one = number(x, 1);
  if (tensor::is_unsigned(x->type().element)) return floor_div(x, max(y, one));
  // By -1 machines cannot divide the lowest value; -x wraps.
  const Expr negates = equal(y, number(y, -1));
  const Expr divisor = select(logical_or(negates, equal(y, zero)), one, y);
  const Expr below_exact =
      logical_and(not_equal(floor_mod(x, divisor), zero), not_equal(x < zero, divisor < zero));
  return select(negates, -x, floor_div(x, divisor) + select(below_exact, one, zero));
}

Buffer unary(Builder& b, UnaryKind kind, const Buffer& x) {
  if (b.failed()) return x;
  if (!unary_takes(kind, x->element)) return b.fail(name_of(kind), absl::StrCat("cannot take ", describe(x)));
  return map(b, name_of(kind), x, [&](const Expr& v) { return unary_value(kind, v); });
}

Buffer leaky_relu(Builder& b, const Buffer& x, double alpha) {
  if (!tensor::is_float(x->element)) return b.fail("leaky_relu", absl::StrCat("cannot take ", describe(x)));
  return map(b, "leaky_relu", x,
             [&](const Expr& v) { return select(v < number(v, 0), v * number(v, alpha), v); });
}

Buffer clip(Builder& b, const Buffer& x, double low, double high) {
  // Where an element can lie on one side only of a bound, the bound says nothing.
  const auto [lowest, highest] = range_of(x->element);
  return map(b, "clip", x, [&](Expr v) {
    if (!(low <= lowest)) v = max(v, number(v, std::min(low, highest)));
    if (!(high >= highest)) v = min(v, number(v, std::max(high, lowest)));
    return v;
  });
}

Buffer cast(Builder& b, const Buffer& x, Element element) {
  if (b.failed()) return x;
  b.label("cast");
  return b.compute("cast", element, x->extents, [&](Indices i) {
    return tensor::cast(Type{element, 1}, at(x, i));
  });
}

Buffer binary(Builder& b, BinaryKind kind, const Buffer& x, const Buffer& y) {
  if (b.failed()) return x;
  const std::string_view name = name_of(kind);
  const std::array operands = {x, y};
  const auto extents = broadcast_extents(operands);
  if (x->element != y->element || !binary_takes(kind, x->element) || !extents)
    return b.fail(name, absl::StrCat("cannot take ", describe(x), " and ", describe(y)));
  b.label(name);
  return b.compute(std::string(name), gives_bool(kind) ? Element::kBool : x->element, *extents,
                   [&](Indices i) { return binary_value(kind, broadcast_at(x, i), broadcast_at(y, i)); });
}

Buffer binary(Builder& b, BinaryKind kind, const Buffer& x, double y) {
  if (b.failed()) return x;
  const std::string_view name = name_of(kind);
  if (!binary_takes(kind, x->element)) return b.fail(name, absl::StrCat("cannot take ", describe(x)));
  b.label(name);
  return b.compute(std::string(name), gives_bool(kind) ? Element::kBool : x->element, x->extents,
                   [&](Indices i) { return binary_value(kind, at(x, i), constant_like(x, y)); });
}

Buffer where(Builder& b, const Buffer& condition, const Buffer& x, const Buffer& y) {
  if (b.failed()) return x;
  const std::array operands = {condition, x, y};
  const auto extents = broadcast_extents(operands);
  if (condition->element != Element::kBool || x->element != y->element || !extents)
    return b.fail("where",
                  absl::StrCat("cannot take ", describe(condition), ", ", describe(x), " and ", describe(y)));
  b.label("where");
  return b.compute("where", x->element, *extents, [&](Indices i) {
    return select(broadcast_at(condition, i), broadcast_at(x, i), broadcast_at(y, i));
  });
}

Buffer bias_add(Builder& b, const Buffer& x, const Buffer& bias, int axis) {
  if (b.failed()) return x;
  if (bias->rank() != 1 || axis < 0 || axis >= x->rank() || bias->element != x->element ||
      !same_extent(bias->extents[0], x->extents[static_cast<size_t>(axis)]))
    return b.fail("bias", absl::StrCat(describe(bias), " does not fit axis ", axis, " of ", describe(x)));
  b.label("bias");
  return b.compute("bias", x->element, x->extents,
                   [&](Indices i) { return at(x, i) + at(bias, {i[static_cast<size_t>(axis)]}); });
}

std::optional<std::vector<Expr>> broadcast_extents(std::span<const Buffer> operands) {
  size_t rank = 0;
  for (const Buffer& x : operands) rank = std::max(rank, x->extents.size());
  std::vector<Expr> extents(rank, tensor::imm(1));
  for (const Buffer& x : operands) {
    const size_t offset = rank - x->extents.size();
    for (size_t d = 0; d < x->extents.size(); ++d) {
      Expr& common = extents[offset + d];
      if (is_one(common)) common = x->extents[d];
      if (!is_one(x->extents[d]) && !same_extent(common, x->extents[d])) return std::nullopt;
    }
  }
  return extents;
}

Expr broadcast_at(const Buffer& x, Indices indices) {
  TF_CHECK(indices.size() >= x->extents.size())
      << describe(x) << " does not broadcast to rank " << indices.size();
  const size_t offset = indices.size() - x->extents.size();
  std::vector<Expr> own;
  for (size_t d = 0; d < x->extents.size(); ++d)
    own.push_back(is_one(x->extents[d]) ? tensor::imm(int64_t{0}) : indices[offset + d]);
  return at(x, std::move(own));
}

}  // namespace tf::ops
