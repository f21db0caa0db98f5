#include "compiler/analysis/access.h"

#include <unordered_set>

#include "compiler/analysis/simplifier.h"

namespace tf::analysis {

bool uses(const Expr& expr, const VarNode* var) {
  bool found = false;
  tensor::for_each(expr, [&](const Expr& node) {
    found = found || node.get() == static_cast<const tensor::ExprNode*>(var);
    return !found;
  });
  return found;
}

std::optional<int64_t> stride(const Expr& index, const VarNode* var, const RangeMap& ranges) {
  Simplifier simplifier(ranges);
  const Linear form = simplifier.linear(index);
  int64_t out = 0;
  for (const Term& term : form.terms) {
    if (term.atom.get() == static_cast<const tensor::ExprNode*>(var))
      out = term.coefficient;
    else if (uses(term.atom, var))
      return std::nullopt;
  }
  return out;
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

int dimension_of(const tensor::Load& load, const VarNode* var) {
  for (size_t dim = 0; dim < load.indices.size(); ++dim)
    if (load.indices[dim].get() == var) return static_cast<int>(dim);
  return -1;
}

}  // namespace tf::analysis
