#include "compiler/passes/hoist_loads.h"

#include <utility>
#include <vector>

namespace tf::passes {
namespace {

using ir::as;
using ir::Expr;
using ir::Stmt;

class LoadHoister {
 public:
  Expr hoist(const Expr& expr, bool in_side) {
    std::vector<Expr> operands = tensor::operands(expr);
    const bool is_select = as<ir::Select>(expr) != nullptr;
    for (size_t i = 0; i < operands.size(); ++i)
      operands[i] = hoist(operands[i], in_side || (is_select && i > 0));
    Expr out = tensor::with_operands(expr, operands);
    return in_side && as<ir::Load>(out) ? named(out) : out;
  }

  // Names loads outside of sides that were named for a side.
  Expr reuse(const Expr& expr) {
    if (loads_.empty()) return expr;
    return tensor::rewrite(expr, [&](const Expr& e) -> Expr {
      if (!as<ir::Load>(e)) return e;
      for (const auto& [var, load] : loads_)
        if (tensor::structurally_equal(load, e)) return var;
      return e;
    });
  }

  Stmt wrap(Stmt body) const {
    for (auto it = loads_.rbegin(); it != loads_.rend(); ++it)
      body = ir::make_stmt<ir::Let>(it->first, it->second, body);
    return body;
  }

 private:
  Expr named(const Expr& load) {
    for (const auto& [var, known] : loads_)
      if (tensor::structurally_equal(known, load)) return var;
    loads_.emplace_back(tensor::var("v", load->type()), load);
    return loads_.back().first;
  }

  std::vector<std::pair<ir::Var, Expr>> loads_;
};

class Hoister final : public ir::Rewriter {
 protected:
  Expr rewrite(const Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    const auto* store = as<ir::Store>(stmt);
    if (!store) return recurse(stmt);
    LoadHoister loads;
    Expr value = loads.hoist(store->value, false);
    if (value.same_as(store->value)) return stmt;
    value = loads.reuse(value);
    return loads.wrap(ir::store(store->buffer, store->indices, value, store->predicate));
  }
};

}  // namespace

ir::Function hoist_loads(const ir::Function& function) {
  ir::Function out = function;
  out.body = Hoister()(function.body);
  return out;
}

}  // namespace tf::passes
