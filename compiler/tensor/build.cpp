// The building functions of expr.h and rebuild.h: folding of constants and neutral elements.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "compiler/tensor/arithmetic.h"
#include "compiler/tensor/rebuild.h"
#include "compiler/tensor/saturate.h"
#include "compiler/tensor/text.h"

namespace tf::tensor {
namespace {

Expr int_imm(Type type, int64_t value) {
  return broadcast(make<IntImm>(Type{type.element, 1}, wrap_to_element(type.element, value)), type.lanes);
}

Expr float_imm(Type type, double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return broadcast(make<FloatImm>(Type{type.element, 1}, round_to_element(type.element, value)), type.lanes);
}

std::optional<double> as_float(const Expr& expr) {
  if (const auto* wide = as<Broadcast>(expr)) return as_float(wide->value);
  if (const auto* imm = as<FloatImm>(expr)) return imm->value;
  return std::nullopt;
}

// Nothing where the exact result does not fit, so that no overflow is hidden; a u64 is never an index, and wraps.
std::optional<int64_t> fold_int(BinaryOp op, Element element, int64_t a, int64_t b) {
  if (element == Element::kUInt64) {
    const bool divides = op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
    return divides && b == 0 ? std::nullopt : std::optional(value_of(op, element, a, b));
  }
  int64_t r = 0;
  switch (op) {
    case BinaryOp::kAdd:
      return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::kSub:
      return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::kMul:
      return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case BinaryOp::kFloorDiv:
      if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) return std::nullopt;
      break;
    case BinaryOp::kFloorMod:
      if (b == 0) return std::nullopt;
      break;
    default:
      break;
  }
  return value_of(op, a, b);
}

Expr fold_float(BinaryOp op, const Type& type, double a, double b) {
  switch (op) {
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe:
      return int_imm({Element::kBool, type.lanes}, value_of(op, a, b) != 0);
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      return nullptr;
    default:
      return float_imm(type, value_of(op, a, b));
  }
}

// Neutral and absorbing integer and bool constants; null if none applies.
Expr drop_neutral(BinaryOp op, const Expr& a, const Expr& b) {
  const std::optional<int64_t> x = as_int(a), y = as_int(b);
  switch (op) {
    case BinaryOp::kAdd:
      return x == 0 ? b : y == 0 ? a : Expr();
    case BinaryOp::kSub:
      return y == 0 ? a : Expr();
    case BinaryOp::kMul:
      return x == 1 || y == 0 ? b : y == 1 || x == 0 ? a : Expr();
    case BinaryOp::kFloorDiv:
      return y == 1 || x == 0 ? a : Expr();
    case BinaryOp::kFloorMod:
      return x == 0 ? a : y == 1 ? int_imm(a->type(), 0) : Expr();
    case BinaryOp::kAnd:
      return x == 0 || y == 1 ? a : x == 1 || y == 0 ? b : Expr();
    case BinaryOp::kOr:
      return x == 1 || y == 0 ? a : x == 0 || y == 1 ? b : Expr();
    default:
      return nullptr;
  }
}

// The node rebuilt by the building functions, so that new constants fold.
Expr refold(const Expr& expr, const std::vector<Expr>& x) {
  switch (expr->kind()) {
    case ExprKind::kUnary:
      switch (as<Unary>(expr)->op) {
        case UnaryOp::kNeg:
          return -x[0];
        case UnaryOp::kNot:
          return logical_not(x[0]);
        case UnaryOp::kAbs:
          return abs(x[0]);
      }
      break;
    case ExprKind::kBinary:
      return binary(as<Binary>(expr)->op, x[0], x[1]);
    case ExprKind::kSelect:
      return select(x[0], x[1], x[2]);
    case ExprKind::kCast:
      return cast(expr->type(), x[0]);
    default:
      break;
  }
  return with_operands(expr, x);
}

}  // namespace

Expr widened(const Expr& expr, int lanes) {
  return expr->type().lanes == lanes ? expr : broadcast(expr, lanes);
}

Expr binary(BinaryOp op, const Expr& x, const Expr& y) {
  const int lanes = std::max(x->type().lanes, y->type().lanes);
  const Expr a = widened(x, lanes), b = widened(y, lanes);
  const Element element = a->type().element;
  TF_CHECK((op != BinaryOp::kDiv || is_float(element)) &&
           (!is_float(element) || (op != BinaryOp::kFloorDiv && op != BinaryOp::kFloorMod)))
      << "/ divides floats, // and % integers, not " << element_name(element);
  if (is_float(element)) {
    const std::optional<double> p = as_float(a), q = as_float(b);
    if (p && q && a->type() == b->type())
      if (Expr folded = fold_float(op, a->type(), *p, *q)) return folded;
    return make<Binary>(op, a, b);
  }
  const std::optional<int64_t> p = as_int(a), q = as_int(b);
  if (p && q && a->type() == b->type()) {
    Expr node = make<Binary>(op, a, b);
    const std::optional<int64_t> folded = fold_int(op, element, *p, *q);
    return folded ? int_imm(node->type(), *folded) : node;
  }
  if (a->type() == b->type())
    if (Expr simpler = drop_neutral(op, a, b)) return simpler;
  return make<Binary>(op, a, b);
}

Expr imm(int64_t value) {
  return int_imm(kIndex, value);
}

Expr imm(Type type, double value) {
  if (is_float(type.element)) return float_imm(type, value);
  const bool is_beyond = type.element == Element::kUInt64 && value > 0;
  return int_imm(type, is_beyond ? saturated(type.element, value) : saturate<int64_t>(value));
}

Var var(std::string name, Type type) {
  return Var(new VarNode(std::move(name), type));
}

Buffer buffer(std::string name, Element element, std::vector<Expr> extents, Scope scope, Layout layout) {
  return Buffer(new BufferNode(std::move(name), element, std::move(extents), scope, std::move(layout)));
}

Expr operator+(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kAdd, a, b);
}
Expr operator-(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kSub, a, b);
}
Expr operator*(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kMul, a, b);
}
Expr operator/(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kDiv, a, b);
}
Expr operator+(const Expr& a, int64_t b) {
  return a + int_imm(a->type(), b);
}
Expr operator-(const Expr& a, int64_t b) {
  return a - int_imm(a->type(), b);
}
Expr operator*(const Expr& a, int64_t b) {
  return a * int_imm(a->type(), b);
}
Expr operator<(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kLt, a, b);
}
Expr operator<=(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kLe, a, b);
}
Expr logical_and(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kAnd, a, b);
}
Expr both(const Expr& a, const Expr& b) {
  return a && b ? logical_and(a, b) : a ? a : b;
}
Expr logical_or(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kOr, a, b);
}
Expr equal(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kEq, a, b);
}
Expr not_equal(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kNe, a, b);
}
Expr floor_div(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kFloorDiv, a, b);
}
Expr floor_mod(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kFloorMod, a, b);
}
Expr floor_div(const Expr& a, int64_t b) {
  return floor_div(a, int_imm(a->type(), b));
}
Expr floor_mod(const Expr& a, int64_t b) {
  return floor_mod(a, int_imm(a->type(), b));
}
Expr ceil_div(const Expr& a, const Expr& b) {
  return floor_div(a + (b - 1), b);
}
Expr min(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kMin, a, b);
}
Expr max(const Expr& a, const Expr& b) {
  return binary(BinaryOp::kMax, a, b);
}

Expr operator-(const Expr& a) {
  if (auto value = as_float(a)) return float_imm(a->type(), -*value);
  if (auto value = as_int(a); value && *value != std::numeric_limits<int64_t>::min())
    return int_imm(a->type(), -*value);
  return make<Unary>(UnaryOp::kNeg, a);
}

Expr logical_not(const Expr& a) {
  if (auto value = as_int(a)) return int_imm(a->type(), *value == 0);
  return make<Unary>(UnaryOp::kNot, a);
}

Expr abs(const Expr& a) {
  if (auto value = as_float(a)) return float_imm(a->type(), std::fabs(*value));
  if (is_unsigned(a->type().element)) return a;
  if (auto value = as_int(a); value && *value != std::numeric_limits<int64_t>::min())
    return int_imm(a->type(), std::abs(*value));
  return make<Unary>(UnaryOp::kAbs, a);
}

Expr select(const Expr& condition, const Expr& if_true, const Expr& if_false) {
  TF_CHECK(condition->type().element == Element::kBool) << "a condition is a bool";
  TF_CHECK(if_true->type().element == if_false->type().element) << "both sides of select have one type";
  const int lanes = std::max({condition->type().lanes, if_true->type().lanes, if_false->type().lanes});
  if (auto value = as_int(condition)) return widened(*value != 0 ? if_true : if_false, lanes);
  return make<Select>(widened(condition, lanes), widened(if_true, lanes), widened(if_false, lanes));
}

Expr cast(Type type, const Expr& a) {
  const Element to = type.element;
  const Type result{to, a->type().lanes};
  if (a->type() == result) return a;
  if (auto value = as_int(a)) {
    if (!is_float(to)) return int_imm(result, *value);
    if (to == Element::kFloat32 && a->type().element != Element::kUInt64)
      return float_imm(result, static_cast<double>(static_cast<float>(*value)));
    if (to == Element::kFloat32)
      return float_imm(result, static_cast<double>(static_cast<float>(static_cast<uint64_t>(*value))));
    return float_imm(result, real_of(a->type().element, *value));
  }
  if (auto value = as_float(a)) {
    if (is_float(to)) return float_imm(result, *value);
    // Out of range is left to the back end, which must not be asked for it.
    const double whole = std::trunc(*value);
    if (std::fabs(whole) < 0x1p31) {
      const auto integer = static_cast<int64_t>(whole);
      if (to == Element::kBool) return int_imm(result, *value != 0);
      if (integer >= lowest_integer(to) && wrap_to_element(to, integer) == integer)
        return int_imm(result, integer);
    }
  }
  return make<Cast>(result, a);
}

Expr call(Intrinsic function, std::vector<Expr> args) {
  int lanes = 1;
  for (const Expr& arg : args) {
    TF_CHECK(takes_element(function, arg->type().element))
        << intrinsic_name(function) << " does not take " << element_name(arg->type().element);
    lanes = std::max(lanes, arg->type().lanes);
  }
  for (Expr& arg : args) arg = widened(arg, lanes);
  return make<Call>(function, std::move(args));
}

Expr dot(const Expr& c, const Expr& a, const Expr& b) {
  const std::vector<Expr> args = {c, a, b};
  TF_CHECK(are_dot_operands(args)) << "a wide vector and groups of 2 or 4 narrow elements";
  return make<Call>(Intrinsic::kDot, args);
}

Expr load(const Buffer& buffer, std::vector<Expr> indices, const Expr& predicate) {
  return make<Load>(buffer, std::move(indices), as_int(predicate) == 1 ? Expr() : predicate);
}

Expr ramp(const Expr& base, const Expr& stride, int lanes) {
  return lanes == 1 ? base : make<Ramp>(base, stride, lanes);
}

Expr broadcast(const Expr& value, int lanes) {
  return lanes == 1 ? value : make<Broadcast>(value, lanes);
}

std::optional<int64_t> as_int(const Expr& expr) {
  if (const auto* wide = as<Broadcast>(expr)) return as_int(wide->value);
  if (const auto* imm = as<IntImm>(expr)) return imm->value;
  return std::nullopt;
}

Expr substitute(const Expr& expr, const Substitution& values) {
  if (const auto* variable = as<VarNode>(expr)) {
    auto found = values.find(variable);
    return found == values.end() ? expr : found->second;
  }
  const std::vector<Expr> old = operands(expr);
  std::vector<Expr> children;
  bool changed = false;
  for (const Expr& child : old) {
    children.push_back(substitute(child, values));
    changed = changed || !children.back().same_as(child);
  }
  return changed ? refold(expr, children) : expr;
}

Expr fold(const Expr& expr) {
  std::vector<Expr> children = operands(expr);
  if (children.empty()) return expr;
  for (Expr& child : children) child = fold(child);
  return refold(expr, children);
}

}  // namespace tf::tensor
