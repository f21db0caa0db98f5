#include "compiler/analysis/float_bounds.h"

#include <algorithm>
#include <cmath>

namespace tf::analysis {
namespace {

using ir::as;
using ir::Expr;
using ir::Intrinsic;
using tensor::BinaryOp;
using tensor::Element;
using tensor::ExprKind;

// NaN if an end is infinity times zero or infinity minus infinity.
FloatInterval checked(const FloatInterval& x) {
  return std::isnan(x.min) || std::isnan(x.max) ? FloatInterval{} : x;
}

// What rounding to the element, or to double here, makes of values from an interval.
FloatInterval rounded(Element element, const FloatInterval& x) {
  const int bits = element == Element::kFloat32 ? 24 : 53;
  const auto slack = [&](double v) { return std::isinf(v) ? 0 : std::ldexp(std::fabs(v), -bits); };
  constexpr double kTiny = 0x1p-140;  // what denormals may be off by, and more
  return checked({x.min - slack(x.min) - kTiny, x.max + slack(x.max) + kTiny});
}

FloatInterval sum(const FloatInterval& a, const FloatInterval& b) {
  return checked({a.min + b.min, a.max + b.max});
}
FloatInterval negated(const FloatInterval& a) {
  return {-a.max, -a.min};
}
FloatInterval product(const FloatInterval& a, const FloatInterval& b) {
  const double ends[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
  for (const double end : ends)
    if (std::isnan(end)) return {};
  return {*std::ranges::min_element(ends), *std::ranges::max_element(ends)};
}

class FloatBounds {
 public:
  explicit FloatBounds(const FloatRangeMap& ranges) : ranges_(ranges) {}

  FloatInterval of(const Expr& expr) const {
    const Element element = expr->type().element;
    if (element != Element::kFloat32 && element != Element::kFloat64) return {};
    switch (expr->kind()) {
      case ExprKind::kFloatImm: {
        const double value = as<ir::FloatImm>(expr)->value;
        return checked({value, value});
      }
      case ExprKind::kVarNode: {
        const auto found = ranges_.find(as<ir::VarNode>(expr));
        return found == ranges_.end() ? FloatInterval{} : found->second;
      }
      case ExprKind::kUnary:
        return unary(*as<ir::Unary>(expr));
      case ExprKind::kBinary:
        return binary(*as<ir::Binary>(expr));
      case ExprKind::kSelect: {
        const auto* node = as<ir::Select>(expr);
        const FloatInterval a = of(node->if_true), b = of(node->if_false);
        return {std::min(a.min, b.min), std::max(a.max, b.max)};
      }
      case ExprKind::kCall:
        return call(*as<ir::Call>(expr));
      case ExprKind::kBroadcast:
        return of(as<ir::Broadcast>(expr)->value);
      case ExprKind::kIntImm:
      case ExprKind::kCast:
      case ExprKind::kLoad:
      case ExprKind::kRamp:
        return {};
    }
    return {};
  }

 private:
  FloatInterval unary(const ir::Unary& e) const {
    const FloatInterval a = of(e.a);
    if (e.op == ir::UnaryOp::kNeg) return negated(a);
    if (e.op != ir::UnaryOp::kAbs) return {};
    const double far = std::max(std::fabs(a.min), std::fabs(a.max));
    if (a.min <= 0 && 0 <= a.max) return {0, far};
    return {std::min(std::fabs(a.min), std::fabs(a.max)), far};
  }

  FloatInterval binary(const ir::Binary& e) const {
    const FloatInterval a = of(e.a), b = of(e.b);
    const Element element = e.type().element;
    switch (e.op) {
      case BinaryOp::kAdd:
        return rounded(element, sum(a, b));
      case BinaryOp::kSub:
        return rounded(element, sum(a, negated(b)));
      case BinaryOp::kMul:
        return rounded(element, product(a, b));
      case BinaryOp::kMin:
        return {std::min(a.min, b.min), std::min(a.max, b.max)};
      case BinaryOp::kMax:
        return {std::max(a.min, b.min), std::max(a.max, b.max)};
      default:
        return {};
    }
  }

  FloatInterval call(const ir::Call& e) const {
    switch (e.function) {
      case Intrinsic::kFma:
        return rounded(e.type().element, sum(product(of(e.args[0]), of(e.args[1])), of(e.args[2])));
      case Intrinsic::kRound: {
        const FloatInterval a = of(e.args[0]);
        return {std::nearbyint(a.min), std::nearbyint(a.max)};
      }
      case Intrinsic::kFloor: {
        const FloatInterval a = of(e.args[0]);
        return {std::floor(a.min), std::floor(a.max)};
      }
      default:
        return {};
    }
  }

  const FloatRangeMap& ranges_;
};

}  // namespace

FloatInterval float_interval_of(const Expr& expr, const FloatRangeMap& ranges) {
  return FloatBounds(ranges).of(expr);
}

}  // namespace tf::analysis
