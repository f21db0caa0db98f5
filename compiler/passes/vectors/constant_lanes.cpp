#include "compiler/passes/vectors/constant_lanes.h"

#include "compiler/tensor/arithmetic.h"

namespace tf::passes {

using tensor::as;
using tensor::Expr;
using Lanes = std::vector<int64_t>;

std::optional<Lanes> constant_lanes(const Expr& expr, int lanes) {
  if (const auto value = tensor::as_int(expr)) return Lanes(static_cast<size_t>(lanes), *value);
  if (expr->type().element != tensor::Element::kInt64) return std::nullopt;  // narrower numbers may wrap
  if (const auto* ramp = as<tensor::Ramp>(expr)) {
    const auto base = tensor::as_int(ramp->base), stride = tensor::as_int(ramp->stride);
    if (!base || !stride) return std::nullopt;
    Lanes values;
    for (int lane = 0; lane < lanes; ++lane) values.push_back(*base + *stride * lane);
    return values;
  }
  const auto* binary = as<tensor::Binary>(expr);
  if (!binary) return std::nullopt;
  std::optional<Lanes> a = constant_lanes(binary->a, lanes);
  const std::optional<Lanes> b = a ? constant_lanes(binary->b, lanes) : std::nullopt;
  if (!b) return std::nullopt;
  for (size_t lane = 0; lane < a->size(); ++lane) {
    const int64_t y = (*b)[lane];
    switch (binary->op) {
      case tensor::BinaryOp::kAdd:
      case tensor::BinaryOp::kSub:
      case tensor::BinaryOp::kMul:
        break;
      case tensor::BinaryOp::kFloorDiv:
      case tensor::BinaryOp::kFloorMod:
        if (y == 0 || y == -1) return std::nullopt;  // what data makes of these is of no use here
        break;
      default:
        return std::nullopt;
    }
    (*a)[lane] = tensor::value_of(binary->op, (*a)[lane], y);
  }
  return a;
}

std::vector<bool> may_hold(const Expr& condition, int lanes) {
  const auto count = static_cast<size_t>(lanes);
  std::vector<bool> all(count, true);
  if (const auto value = tensor::as_int(condition)) return std::vector<bool>(count, *value != 0);
  if (const auto* same = as<tensor::Broadcast>(condition)) return may_hold(same->value, lanes);
  const auto* node = as<tensor::Binary>(condition);
  if (node == nullptr) return all;
  if (node->op == tensor::BinaryOp::kAnd || node->op == tensor::BinaryOp::kOr) {
    std::vector<bool> a = may_hold(node->a, lanes);
    const std::vector<bool> b = may_hold(node->b, lanes);
    for (size_t lane = 0; lane < count; ++lane)
      a[lane] = node->op == tensor::BinaryOp::kAnd ? a[lane] && b[lane] : a[lane] || b[lane];
    return a;
  }
  const bool strict = node->op == tensor::BinaryOp::kLt;
  if (!strict && node->op != tensor::BinaryOp::kLe) return all;
  const std::optional<Lanes> a = constant_lanes(node->a, lanes);
  const std::optional<Lanes> b = a ? constant_lanes(node->b, lanes) : std::nullopt;
  for (size_t lane = 0; b && lane < count; ++lane)
    all[lane] = strict ? (*a)[lane] < (*b)[lane] : (*a)[lane] <= (*b)[lane];
  return all;
}

}  // namespace tf::passes
