#include "compiler/codegen/llvm/index.h"

#include <algorithm>

namespace tf::codegen {
namespace {

int64_t saturate(__int128 value) {
  if (value < INT64_MIN) return INT64_MIN;
  if (value > INT64_MAX) return INT64_MAX;
  return static_cast<int64_t>(value);
}

Interval hull(std::initializer_list<__int128> values) {
  return {saturate(std::min(values)), saturate(std::max(values))};
}

int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Interval interval_of_binary(const ir::Binary& e, const VarTable& vars) {
  Interval a = interval_of(e.a, vars);
  Interval b = interval_of(e.b, vars);
  __int128 al = a.low, ah = a.high, bl = b.low, bh = b.high;
  switch (e.op) {
    case ir::BinaryOp::kAdd:
      return hull({al + bl, ah + bh});
    case ir::BinaryOp::kSub:
      return hull({al - bh, ah - bl});
    case ir::BinaryOp::kMul:
      return hull({al * bl, al * bh, ah * bl, ah * bh});
    case ir::BinaryOp::kMin:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case ir::BinaryOp::kMax:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case ir::BinaryOp::kFloorDiv:
      if (b.low != b.high || b.low <= 0) return {};
      return {floor_div(a.low, b.low), floor_div(a.high, b.low)};
    case ir::BinaryOp::kFloorMod:
      if (b.low != b.high || b.low <= 0) return {};
      if (a.within(0, b.low - 1)) return a;
      return {0, b.low - 1};
    default:
      return {};
  }
}

int depth_of(const ir::Expr& expr, const VarTable& vars) {
  int depth = 0;
  tensor::for_each(expr, [&](const ir::Expr& e) {
    if (e->kind() == ir::ExprKind::kVarNode) {
      auto found = vars.find(static_cast<const ir::VarNode*>(e.get()));
      if (found != vars.end()) depth = std::max(depth, found->second.depth);
    }
    return true;
  });
  return depth;
}

void add_scaled(AffineIndex& sum, const AffineIndex& more, int64_t factor) {
  sum.constant += more.constant * factor;
  sum.stride += more.stride * factor;
  for (const AffineIndex::Term& term : more.terms) {
    auto same = std::find_if(sum.terms.begin(), sum.terms.end(),
                             [&](const AffineIndex::Term& t) { return t.value.same_as(term.value); });
    if (same != sum.terms.end()) {
      same->coefficient += term.coefficient * factor;
    } else {
      sum.terms.push_back({term.value, term.coefficient * factor, term.depth});
    }
  }
}

std::optional<AffineIndex> decompose(const ir::Expr& index, const VarTable& vars);

std::optional<AffineIndex> decompose_binary(const ir::Binary& e, const VarTable& vars) {
  std::optional<AffineIndex> a = decompose(e.a, vars);
  if (!a) return std::nullopt;
  std::optional<AffineIndex> b = decompose(e.b, vars);
  if (!b) return std::nullopt;
  AffineIndex sum;
  if (e.op == ir::BinaryOp::kMul) {
    bool a_constant = a->terms.empty() && a->stride == 0;
    add_scaled(sum, a_constant ? *b : *a, a_constant ? a->constant : b->constant);
    return sum;
  }
  add_scaled(sum, *a, 1);
  add_scaled(sum, *b, e.op == ir::BinaryOp::kSub ? -1 : 1);
  return sum;
}

bool is_constant(const ir::Expr& expr) {
  return tensor::as_int(expr).has_value();
}

// Without sorting. A scalar expression of any other form is a term of its own.
std::optional<AffineIndex> decompose(const ir::Expr& index, const VarTable& vars) {
  if (index->type().element == ir::Element::kInt64) {
    if (std::optional<int64_t> value = tensor::as_int(index)) {
      AffineIndex constant;
      constant.constant = *value;
      return constant;
    }
    if (auto* broadcast = tensor::as<ir::Broadcast>(index)) return decompose(broadcast->value, vars);
    if (auto* ramp = tensor::as<ir::Ramp>(index)) {
      std::optional<int64_t> stride = tensor::as_int(ramp->stride);
      if (!stride || ramp->base->type().is_vector()) return std::nullopt;
      std::optional<AffineIndex> base = decompose(ramp->base, vars);
      if (base) base->stride += *stride;
      return base;
    }
    if (auto* binary = tensor::as<ir::Binary>(index)) {
      bool sum = binary->op == ir::BinaryOp::kAdd || binary->op == ir::BinaryOp::kSub;
      bool scaled = binary->op == ir::BinaryOp::kMul && (is_constant(binary->a) || is_constant(binary->b));
      if (sum || scaled) return decompose_binary(*binary, vars);
    }
  }
  if (index->type().is_vector()) return std::nullopt;
  AffineIndex single;
  single.terms.push_back({index, 1, depth_of(index, vars)});
  return single;
}

}  // namespace

Interval interval_of(const ir::Expr& expr, const VarTable& vars) {
  if (std::optional<int64_t> value = tensor::as_int(expr)) return {*value, *value};
  if (expr->type().element != ir::Element::kInt64) return {};  // narrower integers wrap
  switch (expr->kind()) {
    case ir::ExprKind::kVarNode: {
      auto found = vars.find(static_cast<const ir::VarNode*>(expr.get()));
      return found == vars.end() ? Interval{} : found->second.interval;
    }
    case ir::ExprKind::kBroadcast:
      return interval_of(tensor::as<ir::Broadcast>(expr)->value, vars);
    case ir::ExprKind::kRamp: {
      auto* ramp = tensor::as<ir::Ramp>(expr);
      Interval base = interval_of(ramp->base, vars);
      Interval stride = interval_of(ramp->stride, vars);
      __int128 last = expr->type().lanes - 1;
      return hull({__int128{base.low}, __int128{base.high}, base.low + last * stride.low,
                   base.low + last * stride.high, base.high + last * stride.low,
                   base.high + last * stride.high});
    }
    case ir::ExprKind::kBinary:
      return interval_of_binary(*tensor::as<ir::Binary>(expr), vars);
    case ir::ExprKind::kSelect: {
      auto* select = tensor::as<ir::Select>(expr);
      Interval a = interval_of(select->if_true, vars);
      Interval b = interval_of(select->if_false, vars);
      return {std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    default:
      return {};
  }
}

std::optional<AffineIndex> affine_index(const ir::Expr& index, const VarTable& vars) {
  std::optional<AffineIndex> result = decompose(index, vars);
  if (!result) return std::nullopt;
  std::erase_if(result->terms, [](const AffineIndex::Term& term) { return term.coefficient == 0; });
  std::stable_sort(result->terms.begin(), result->terms.end(),
                   [](const AffineIndex::Term& a, const AffineIndex::Term& b) { return a.depth < b.depth; });
  return result;
}

}  // namespace tf::codegen
