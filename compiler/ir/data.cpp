#include "compiler/ir/data.h"

#include <unordered_set>

namespace tf::ir {

bool Data::contains(const Expr& expr) const {
  std::unordered_set<const tensor::ExprNode*> seen;  // shared parts make a tree walk exponential
  bool found = false;
  tensor::for_each(expr, [&](const Expr& e) {
    const auto* var = as<VarNode>(e);
    found = found || e->kind() == ExprKind::kLoad || (var != nullptr && contains(var));
    return !found && seen.insert(e.get()).second;
  });
  return found;
}

void Data::enter(const Let& let) {
  if (contains(let.value)) add(let.var.get());
}

void Data::enter(const For& loop) {
  if (contains(loop.min) || contains(loop.extent)) add(loop.var.get());
}

}  // namespace tf::ir
