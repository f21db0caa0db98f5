#include "tuner/model/formulas/index_bounds.h"

#include "compiler/analysis/bounds.h"

namespace tf::model {
namespace {

using tensor::BinaryOp;
using tensor::Expr;
using tensor::ExprKind;

Bounds point(const Value& value) {
  return {value, value};
}

Bounds of_element(tensor::Element element) {
  const analysis::Interval range = analysis::element_range(element);
  if (!range.is_bounded()) return {};
  return {Value(static_cast<double>(range.min)), Value(static_cast<double>(range.max))};
}

template <typename F>
std::optional<Value> combine(const std::optional<Value>& a, const std::optional<Value>& b, F&& f) {
  return a && b ? std::optional<Value>(f(*a, *b)) : std::nullopt;
}

Bounds times(const Bounds& a, const Bounds& b) {
  if (!a.is_bounded() || !b.is_bounded()) return {};
  if (a.low->least() >= 0 && b.low->least() >= 0) return {*a.low * *b.low, *a.high * *b.high};
  const Value ends[] = {*a.low * *b.low, *a.low * *b.high, *a.high * *b.low, *a.high * *b.high};
  return {min(min(ends[0], ends[1]), min(ends[2], ends[3])),
          max(max(ends[0], ends[1]), max(ends[2], ends[3]))};
}

// The only value of a divisor, if it is positive.
std::optional<Value> positive(const Bounds& b) {
  if (!b.is_bounded() || b.low->least() <= 0) return std::nullopt;
  const Value gap = *b.high - *b.low;
  return gap.is_constant() && gap.constant() == 0 ? b.low : std::nullopt;
}

Value quotient(const Value& a, const Value& divisor) {
  return floor(a / divisor);
}

// As analysis::floor_mod: within one block the remainder runs on, elsewhere it takes any value.
Bounds remainder(const Bounds& a, const Bounds& b) {
  const std::optional<Value> divisor = positive(b);
  if (!divisor) return {};
  const Value last = *divisor - 1;
  if (!a.is_bounded()) return {Value(0), last};
  const Value block = quotient(*a.low, *divisor), start = block * *divisor;
  const Value inside = equal(block, quotient(*a.high, *divisor));
  const Value high = a.low->least() >= 0 ? min(*a.high, last) : last;
  return {select(inside, *a.low - start, 0), select(inside, *a.high - start, high)};
}

}  // namespace

void IndexBounds::set(const tensor::Var& var, const Value& last) {
  ranges_[var.get()] = {Value(0), last};
  known_.clear();
}

void IndexBounds::fix(const tensor::Var& var, const Value& value) {
  ranges_[var.get()] = point(value);
  known_.clear();
}

Bounds IndexBounds::of(const Expr& expr) {
  if (const auto known = known_.find(expr.get()); known != known_.end()) return known->second;
  Bounds bounds = compute(expr);
  known_.emplace(expr.get(), bounds);
  return bounds;
}

Bounds IndexBounds::compute(const Expr& expr) {
  if (tensor::is_float(expr->type().element)) return {};
  if (reading_.is_open_only(expr)) return point(reading_(expr));
  switch (expr->kind()) {
    case ExprKind::kVarNode: {
      const auto found = ranges_.find(tensor::as<tensor::VarNode>(expr));
      return found != ranges_.end() ? found->second : of_element(expr->type().element);
    }
    case ExprKind::kUnary: {
      const auto* node = tensor::as<tensor::Unary>(expr);
      const Bounds a = of(node->a);
      if (!a.is_bounded()) return of_element(expr->type().element);
      if (node->op == tensor::UnaryOp::kNot) return {1 - *a.high, 1 - *a.low};
      const Bounds negated = {0 - *a.high, 0 - *a.low};
      if (node->op == tensor::UnaryOp::kNeg) return negated;
      if (a.low->least() >= 0) return a;
      return {max(max(*a.low, *negated.low), 0), max(*a.high, *negated.high)};
    }
    case ExprKind::kBinary:
      return binary(*tensor::as<tensor::Binary>(expr));
    case ExprKind::kSelect: {
      const auto* node = tensor::as<tensor::Select>(expr);
      const Bounds a = of(node->if_true), b = of(node->if_false);
      if (reading_.is_open_only(node->condition)) {
        const Value condition = reading_(node->condition);
        auto chosen = [&](const Value& x, const Value& y) { return select(condition, x, y); };
        return {combine(a.low, b.low, chosen), combine(a.high, b.high, chosen)};
      }
      return {combine(a.low, b.low, [](const Value& x, const Value& y) { return min(x, y); }),
              combine(a.high, b.high, [](const Value& x, const Value& y) { return max(x, y); })};
    }
    case ExprKind::kCast: {
      const Expr& from = tensor::as<tensor::Cast>(expr)->a;
      const bool whole = !tensor::is_float(from->type().element);
      return whole && expr->type().element == tensor::Element::kInt64 ? of(from)
                                                                      : of_element(expr->type().element);
    }
    default:
      return of_element(expr->type().element);
  }
}

Bounds IndexBounds::binary(const tensor::Binary& node) {
  const Bounds a = of(node.a), b = of(node.b);
  auto lesser = [](const Value& x, const Value& y) { return min(x, y); };
  auto greater = [](const Value& x, const Value& y) { return max(x, y); };
  auto sum = [](const Value& x, const Value& y) { return x + y; };
  auto difference = [](const Value& x, const Value& y) { return x - y; };
  switch (node.op) {
    case BinaryOp::kAdd:
      return {combine(a.low, b.low, sum), combine(a.high, b.high, sum)};
    case BinaryOp::kSub:
      return {combine(a.low, b.high, difference), combine(a.high, b.low, difference)};
    case BinaryOp::kMul:
      return times(a, b);
    case BinaryOp::kFloorDiv: {
      const std::optional<Value> divisor = positive(b);
      if (!divisor || !a.is_bounded()) return {};
      return {quotient(*a.low, *divisor), quotient(*a.high, *divisor)};
    }
    case BinaryOp::kFloorMod:
      return remainder(a, b);
    case BinaryOp::kMin:  // one known upper bound is enough
      return {combine(a.low, b.low, lesser), a.high && b.high ? combine(a.high, b.high, lesser)
                                             : a.high         ? a.high
                                                              : b.high};
    case BinaryOp::kMax:
      return {a.low && b.low ? combine(a.low, b.low, greater)
              : a.low        ? a.low
                             : b.low,
              combine(a.high, b.high, greater)};
    default:
      return {Value(0), Value(1)};  // conditions
  }
}

}  // namespace tf::model
