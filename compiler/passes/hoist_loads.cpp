#include "compiler/passes/hoist_loads.h"

#include <utility>
#include <vector>

#include "compiler/analysis/simplifier.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Expr;
using ir::Stmt;

class LoadHoister {
 public:
  explicit LoadHoister(analysis::Simplifier& simplifier) : simplifier_(simplifier) {}

  Expr hoist(const Expr& expr) {
    if (const auto* select = as<ir::Select>(expr)) {
      const Expr condition = hoist(select->condition);
      path_.push_back(condition);
      const Expr if_true = hoist(select->if_true);
      path_.back() = tensor::logical_not(condition);
      const Expr if_false = hoist(select->if_false);
      path_.pop_back();
      return tensor::with_operands(expr, std::vector<Expr>{condition, if_true, if_false});
    }
    std::vector<Expr> operands = tensor::operands(expr);
    for (Expr& operand : operands) operand = hoist(operand);
    // A scalar load whose conditions differ between lanes has become a vector itself.
    if (as<ir::Broadcast>(expr) && operands[0]->type().is_vector()) return operands[0];
    Expr out = tensor::with_operands(expr, operands);
    const auto* load = as<ir::Load>(out);
    return load && !path_.empty() ? named(safe(*load, out)) : out;
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
  // A load that is not known to be inside keeps the conditions that it stood under.
  Expr safe(const ir::Load& load, const Expr& expr) {
    const analysis::Interval range = analysis::interval_of(simplifier_.linear(load.indices[0]));
    if (range.min >= 0 && range.max < tensor::as_int(load.buffer->extents[0]).value_or(0)) return expr;
    Expr predicate = load.predicate;
    for (const Expr& condition : path_) {
      const auto* same = as<ir::Broadcast>(condition);
      const Expr narrow = same ? same->value : condition;
      predicate = predicate ? tensor::logical_and(predicate, narrow) : narrow;
    }
    return tensor::load(load.buffer, load.indices, predicate);
  }

  Expr named(const Expr& load) {
    for (const auto& [var, known] : loads_)
      if (tensor::structurally_equal(known, load)) return var;
    loads_.emplace_back(tensor::var("v", load->type()), load);
    return loads_.back().first;
  }

  analysis::Simplifier& simplifier_;
  std::vector<Expr> path_;  // conditions of the sides around
  std::vector<std::pair<ir::Var, Expr>> loads_;
};

class Hoister final : public ir::Rewriter {
 public:
  Hoister() : simplifier_(ranges_) {}

 protected:
  Expr rewrite(const Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    if (const auto* loop = as<ir::For>(stmt)) simplifier_.enter(*loop);
    const auto* store = as<ir::Store>(stmt);
    if (!store) return recurse(stmt);
    LoadHoister loads(simplifier_);
    Expr value = loads.hoist(store->value);
    if (value.same_as(store->value)) return stmt;
    value = loads.reuse(value);
    return loads.wrap(ir::store(store->buffer, store->indices, value, store->predicate));
  }

 private:
  analysis::RangeMap ranges_;
  analysis::Simplifier simplifier_;
};

}  // namespace

ir::Function hoist_loads(const ir::Function& function) {
  ir::Function out = function;
  out.body = Hoister()(function.body);
  return out;
}

}  // namespace tf::passes
