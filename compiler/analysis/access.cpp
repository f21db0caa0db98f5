#include "compiler/analysis/access.h"

#include <unordered_set>

#include "compiler/analysis/simplifier.h"
#include "compiler/ir/physical.h"

namespace tf::analysis {
namespace {

using ir::as;

std::optional<int64_t> stride_in(const Linear& form, const VarNode* var) {
  int64_t out = 0;
  for (const Term& term : form.terms) {
    if (term.atom.get() == static_cast<const tensor::ExprNode*>(var))
      out = term.coefficient;
    else if (uses(term.atom, var))
      return std::nullopt;
  }
  return out;
}

}  // namespace

bool uses(const Expr& expr, const VarNode* var) {
  bool found = false;
  tensor::for_each(expr, [&](const Expr& node) {
    found = found || node.get() == static_cast<const tensor::ExprNode*>(var);
    return !found;
  });
  return found;
}

std::optional<Affine> affine(const Expr& index, const RangeMap& ranges) {
  Simplifier simplifier(ranges);
  const Linear form = simplifier.linear(index);
  Affine out;
  out.constant = form.constant;
  for (const Term& term : form.terms) {
    if (const auto* var = as<VarNode>(term.atom)) {
      out.coefficients[var] = term.coefficient;
    } else {
      const auto* ramp = as<ir::Ramp>(term.atom);
      if (!ramp || !as_int(ramp->base) || !as_int(ramp->stride)) return std::nullopt;
    }
  }
  return out;
}

std::optional<int64_t> stride(const Expr& index, const VarNode* var, const RangeMap& ranges) {
  Simplifier simplifier(ranges);
  return stride_in(simplifier.linear(index), var);
}

std::optional<int64_t> physical_stride(const ir::BufferNode& buffer, std::span<const Expr> indices,
                                       const VarNode* var, const RangeMap& ranges) {
  Simplifier simplifier(ranges);
  return stride_in(simplifier.linear(ir::physical_offset(buffer, indices)), var);
}

bool contains_load(const Expr& expr) {
  std::unordered_set<const tensor::ExprNode*> seen;  // shared parts make a tree walk exponential
  bool found = false;
  tensor::for_each(expr, [&](const Expr& e) {
    found = found || e->kind() == ir::ExprKind::kLoad;
    return !found && seen.insert(e.get()).second;
  });
  return found;
}

}  // namespace tf::analysis
