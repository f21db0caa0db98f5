#include "compiler/backends/llvm/index.h"

#include <algorithm>

namespace tf::backends {
namespace {

int depth_of(const ir::Expr& expr, const DepthTable& depths) {
  int depth = 0;
  tensor::for_each(expr, [&](const ir::Expr& e) {
    if (e->kind() == ir::ExprKind::kVarNode) {
      auto found = depths.find(static_cast<const ir::VarNode*>(e.get()));
      if (found != depths.end()) depth = std::max(depth, found->second);
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

std::optional<AffineIndex> decompose(const ir::Expr& index, const DepthTable& depths);

std::optional<AffineIndex> decompose_binary(const ir::Binary& e, const DepthTable& depths) {
  std::optional<AffineIndex> a = decompose(e.a, depths);
  if (!a) return std::nullopt;
  std::optional<AffineIndex> b = decompose(e.b, depths);
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
std::optional<AffineIndex> decompose(const ir::Expr& index, const DepthTable& depths) {
  if (index->type().element == ir::Element::kInt64) {
    if (std::optional<int64_t> value = tensor::as_int(index)) {
      AffineIndex constant;
      constant.constant = *value;
      return constant;
    }
    if (auto* broadcast = tensor::as<ir::Broadcast>(index)) return decompose(broadcast->value, depths);
    if (auto* ramp = tensor::as<ir::Ramp>(index)) {
      std::optional<int64_t> stride = tensor::as_int(ramp->stride);
      if (!stride || ramp->base->type().is_vector()) return std::nullopt;
      std::optional<AffineIndex> base = decompose(ramp->base, depths);
      if (base) base->stride += *stride;
      return base;
    }
    if (auto* binary = tensor::as<ir::Binary>(index)) {
      bool sum = binary->op == ir::BinaryOp::kAdd || binary->op == ir::BinaryOp::kSub;
      bool scaled = binary->op == ir::BinaryOp::kMul && (is_constant(binary->a) || is_constant(binary->b));
      if (sum || scaled) return decompose_binary(*binary, depths);
    }
  }
  if (index->type().is_vector()) return std::nullopt;
  AffineIndex single;
  single.terms.push_back({index, 1, depth_of(index, depths)});
  return single;
}

}  // namespace

std::optional<AffineIndex> affine_index(const ir::Expr& index, const DepthTable& depths) {
  std::optional<AffineIndex> result = decompose(index, depths);
  if (!result) return std::nullopt;
  std::erase_if(result->terms, [](const AffineIndex::Term& term) { return term.coefficient == 0; });
  std::stable_sort(result->terms.begin(), result->terms.end(),
                   [](const AffineIndex::Term& a, const AffineIndex::Term& b) { return a.depth < b.depth; });
  return result;
}

}  // namespace tf::backends
