#include "compiler/analysis/bounds.h"

#include <algorithm>

namespace tf::analysis {
namespace {

using ir::as;
using ir::BinaryOp;
using ir::Element;
using tensor::ExprKind;

// Ends as wide numbers: products of two ends cannot overflow, and infinity is simply a very large number.
__extension__ typedef __int128 Wide;
constexpr Wide kInfinity = Wide{1} << 100;

Wide low(const Interval& i) {
  return i.has_min() ? Wide{i.min} : -kInfinity;
}
Wide high(const Interval& i) {
  return i.has_max() ? Wide{i.max} : kInfinity;
}

Interval narrow(Wide lo, Wide hi) {
  Interval out;
  if (lo > Interval::kNoMin)
    out.min = lo >= Interval::kNoMax ? Interval::kNoMax - 1 : static_cast<int64_t>(lo);
  if (hi < Interval::kNoMax)
    out.max = hi <= Interval::kNoMin ? Interval::kNoMin + 1 : static_cast<int64_t>(hi);
  return out;
}

Wide product(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  const bool infinite = a >= kInfinity || a <= -kInfinity || b >= kInfinity || b <= -kInfinity;
  if (infinite) return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
  return a * b;
}

Wide quotient(Wide a, Wide b) {
  if (a >= kInfinity || a <= -kInfinity) return a;
  const Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Interval truth(bool can_be_false, bool can_be_true) {
  return {can_be_false ? 0 : 1, can_be_true ? 1 : 0};
}

Interval compare(BinaryOp op, const Interval& a, const Interval& b) {
  const bool disjoint = high(a) < low(b) || high(b) < low(a);
  const bool same_point = a.is_point() && a == b;
  switch (op) {
    case BinaryOp::kEq:
      return truth(!same_point, !disjoint);
    case BinaryOp::kNe:
      return truth(!disjoint, !same_point);
    case BinaryOp::kLt:
      return truth(high(a) >= low(b), low(a) < high(b));
    default:
      return truth(high(a) > low(b), low(a) <= high(b));
  }
}

Interval binary(BinaryOp op, const Interval& a, const Interval& b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kFloorDiv:
      return floor_div(a, b);
    case BinaryOp::kFloorMod:
      return floor_mod(a, b);
    case BinaryOp::kMin:
    case BinaryOp::kAnd:
      return min(a, b);
    case BinaryOp::kMax:
    case BinaryOp::kOr:
      return max(a, b);
    case BinaryOp::kDiv:
      return Interval::everything();
    default:
      return compare(op, a, b);
  }
}

Interval unary(ir::UnaryOp op, const Interval& a) {
  switch (op) {
    case ir::UnaryOp::kNeg:
      return Interval::point(0) - a;
    case ir::UnaryOp::kNot:
      return Interval::point(1) - a;
    case ir::UnaryOp::kAbs:
      if (!a.has_min()) return Interval::everything();  // the lowest i64 is its own negative
      if (a.min >= 0) return a;
      return max(max(a, Interval::point(0) - a), Interval::point(0));
  }
  return Interval::everything();
}

// Arithmetic in a narrow type wraps: what does not fit can be anything of the type.
Interval fit(Element element, const Interval& value) {
  const Interval type = element_range(element);
  const bool may_wrap = element == Element::kUInt64 && !value.has_max();
  return type.contains(value) && !may_wrap ? value : type;
}

// What has no upper bound among the u64 may lie beyond i64, where it is not the number that it was.
Interval converted(Element from, Element to, const Interval& value) {
  if (from == Element::kUInt64 && !value.has_max()) return element_range(to);
  return fit(to, value);
}

class Bounds {
 public:
  Bounds(const RangeMap& ranges, const ir::Data& data) : ranges_(ranges), data_(data) {}

  Interval of(const Expr& expr) const {
    const Element element = expr->type().element;
    if (tensor::is_float(element)) return Interval::everything();
    switch (expr->kind()) {
      case ExprKind::kIntImm:
        return fit(element, Interval::point(as<ir::IntImm>(expr)->value));
      case ExprKind::kVarNode: {
        auto found = ranges_.find(as<VarNode>(expr));
        return found == ranges_.end() ? element_range(element) : found->second;
      }
      case ExprKind::kUnary: {
        const auto* node = as<ir::Unary>(expr);
        const Interval value = unary(node->op, of(node->a));
        return node->op == ir::UnaryOp::kNeg ? wrapped(expr, value) : fit(element, value);
      }
      case ExprKind::kBinary: {
        const auto* node = as<ir::Binary>(expr);
        const Interval value = binary(node->op, of(node->a), of(node->b));
        const bool overflows =
            node->op == BinaryOp::kAdd || node->op == BinaryOp::kSub || node->op == BinaryOp::kMul;
        return overflows ? wrapped(expr, value) : fit(element, value);
      }
      case ExprKind::kSelect: {
        const auto* node = as<ir::Select>(expr);
        return join(of(node->if_true), of(node->if_false));
      }
      case ExprKind::kCast: {
        const Expr& from = as<ir::Cast>(expr)->a;
        if (tensor::is_float(from->type().element)) return element_range(element);
        if (element == Element::kBool) return truth(true, true);
        return converted(from->type().element, element, of(from));
      }
      case ExprKind::kRamp: {
        const auto* node = as<ir::Ramp>(expr);
        const Interval steps{0, expr->type().lanes - 1};
        return wrapped(expr, of(node->base) + of(node->stride) * steps);
      }
      case ExprKind::kBroadcast:
        return of(as<ir::Broadcast>(expr)->value);
      case ExprKind::kCall:
      case ExprKind::kLoad:
      case ExprKind::kFloatImm:
        return element_range(element);
    }
    return Interval::everything();
  }

 private:
  // What may overflow has no bound at one end at least: the other is no bound either once it wraps.
  Interval wrapped(const Expr& expr, const Interval& value) const {
    const Element element = expr->type().element;
    if (element == Element::kInt64 && !value.is_bounded() && data_.contains(expr))
      return Interval::everything();
    return fit(element, value);
  }

  const RangeMap& ranges_;
  const ir::Data& data_;
};

}  // namespace

RangeMap ranges_of(const std::vector<tensor::Dimension>& dims) {
  RangeMap ranges;
  for (const tensor::Dimension& dim : dims) ranges[dim.var.get()] = {dim.low, dim.high};
  return ranges;
}

Interval operator+(const Interval& a, const Interval& b) {
  return narrow(low(a) + low(b), high(a) + high(b));
}

Interval operator-(const Interval& a, const Interval& b) {
  return narrow(low(a) - high(b), high(a) - low(b));
}

Interval operator*(const Interval& a, const Interval& b) {
  const Wide ends[] = {product(low(a), low(b)), product(low(a), high(b)), product(high(a), low(b)),
                       product(high(a), high(b))};
  return narrow(*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4));
}

Interval operator*(const Interval& a, int64_t b) {
  const Wide x = product(low(a), b), y = product(high(a), b);
  return x < y ? narrow(x, y) : narrow(y, x);
}

Interval floor_div(const Interval& a, const Interval& b) {
  if (!b.has_min() || b.min <= 0) return Interval::everything();
  if (!b.has_max()) {
    // A divisor without bound brings every value as near to 0 (or -1) as may be.
    const Wide lo = low(a) < 0 ? quotient(low(a), b.min) : 0;
    const Wide hi = high(a) < 0 ? -1 : quotient(high(a), b.min);
    return narrow(lo, hi);
  }
  const Wide ends[] = {quotient(low(a), b.min), quotient(low(a), b.max), quotient(high(a), b.min),
                       quotient(high(a), b.max)};
  return narrow(*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4));
}

Interval floor_mod(const Interval& a, const Interval& b) {
  if (!b.has_min() || b.min <= 0) return Interval::everything();
  if (a.is_bounded() && b.is_point()) {
    const Wide block = quotient(a.min, b.min);
    if (block == quotient(a.max, b.min)) return narrow(a.min - block * b.min, a.max - block * b.min);
  }
  if (a.has_min() && a.min >= 0) {
    if (a.has_max() && a.max < b.min) return a;
    return narrow(0, std::min(high(a), high(b) - 1));
  }
  return narrow(0, high(b) - 1);
}

Interval min(const Interval& a, const Interval& b) {
  return narrow(std::min(low(a), low(b)), std::min(high(a), high(b)));
}

Interval max(const Interval& a, const Interval& b) {
  return narrow(std::max(low(a), low(b)), std::max(high(a), high(b)));
}

Interval join(const Interval& a, const Interval& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}

Interval intersect(const Interval& a, const Interval& b) {
  return {std::max(a.min, b.min), std::min(a.max, b.max)};
}

Interval element_range(Element element) {
  switch (element) {
    case Element::kBool:
    case Element::kInt8:
    case Element::kUInt8:
    case Element::kInt16:
    case Element::kUInt16:
    case Element::kInt32:
    case Element::kUInt32:
      return {tensor::lowest_integer(element), tensor::highest_integer(element)};
    case Element::kUInt64:
      return {0, Interval::kNoMax};
    default:
      return Interval::everything();
  }
}

Interval iterations(const ir::For& loop, const RangeMap& ranges, const ir::Data& data) {
  const Interval first = interval_of(loop.min, ranges, data);
  return {first.min, (first + interval_of(loop.extent, ranges, data) - Interval::point(1)).max};
}

Interval interval_of(const Expr& expr, const RangeMap& ranges, const ir::Data& data) {
  return Bounds(ranges, data).of(expr);
}

}  // namespace tf::analysis
