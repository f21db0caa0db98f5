#include "compiler/backends/gpu/wide_loads.h"

#include <list>
#include <set>
#include <utility>

#include "compiler/tensor/rebuild.h"

namespace tf::backends {
namespace {

using ir::as;
using ir::Expr;

// Of one lane; null if lanes differ.
Expr of_all_lanes(const Expr& condition) {
  const auto* wide = as<ir::Broadcast>(condition);
  const Expr& one = wide ? wide->value : condition;
  return one->type().is_vector() ? nullptr : one;
}

class LoadFinder {
 public:
  std::vector<WideLoad> loads;

  void find(const Expr& expr, const Expr& path) {
    if (const auto* select = as<ir::Select>(expr)) {
      find(select->condition, path);
      const Expr one = of_all_lanes(select->condition);
      find(select->if_true, one ? kept(tensor::both(path, one)) : path);
      find(select->if_false, one ? kept(tensor::both(path, tensor::logical_not(one))) : path);
      return;
    }
    if (!seen_.insert({expr.get(), path.get()}).second) return;  // of a shared part, on that path
    for (const Expr& operand : tensor::operands(expr)) find(operand, path);
    if (const auto* load = as<ir::Load>(expr)) take(*load, expr, path);
  }

 private:
  void take(const ir::Load& load, const Expr& expr, const Expr& path) {
    if (!expr->type().is_vector()) return;
    Expr own;
    if (load.predicate) {
      own = of_all_lanes(load.predicate);
      if (!own) return;
    }
    const Expr condition =
        own && path && tensor::structurally_equal(own, path) ? own : tensor::both(path, own);
    for (WideLoad& known : loads) {
      if (known.load.get() != expr.get()) continue;
      const bool same =
          known.condition && condition && tensor::structurally_equal(known.condition, condition);
      if (!same) known.condition = own;
      return;
    }
    loads.push_back({expr, condition});
  }

  const Expr& kept(Expr path) { return *paths_.insert(paths_.end(), std::move(path)); }

  std::set<std::pair<const tensor::ExprNode*, const tensor::ExprNode*>> seen_;
  std::list<Expr> paths_;
};

}  // namespace

std::vector<WideLoad> wide_loads(const Expr& value) {
  LoadFinder finder;
  finder.find(value, nullptr);
  return std::move(finder.loads);
}

}  // namespace tf::backends
