#include <vector>

#include "compiler/analysis/simplifier.h"
#include "compiler/passes/naming_rewriter.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Expr;
using ir::Stmt;

class LoadHoister final : public NamingRewriter {
 public:
  explicit LoadHoister(const ir::Function& function)
      : ranges_(analysis::ranges_of(function.dims)), simplifier_(ranges_) {}

 protected:
  Expr expression(const Expr& expr) override { return reuse(hoist(expr)); }

  Stmt rewrite(const Stmt& stmt) override {
    if (const auto* loop = as<ir::For>(stmt)) simplifier_.enter(*loop);
    if (const auto* let = as<ir::Let>(stmt)) simplifier_.data().enter(*let);
    return NamingRewriter::rewrite(stmt);
  }

 private:
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
    return load && !path_.empty() ? named_once(safe(*load, out)) : out;
  }

  // Names loads outside of sides that were named for a side.
  Expr reuse(const Expr& expr) {
    if (names().empty()) return expr;
    return tensor::rewrite(expr, [&](const Expr& e) { return as<ir::Load>(e) ? known(e, e) : e; });
  }

  // A load that is not known to be inside keeps the conditions that it stood under.
  Expr safe(const ir::Load& load, const Expr& expr) {
    const analysis::Interval range = simplifier_.values(load.indices[0]);
    if (range.min >= 0 && range.max < tensor::as_int(load.buffer->extents[0]).value_or(0)) return expr;
    Expr predicate = load.predicate;
    for (const Expr& condition : path_) {
      const auto* same = as<ir::Broadcast>(condition);
      const Expr narrow = same ? same->value : condition;
      predicate = predicate ? tensor::logical_and(predicate, narrow) : narrow;
    }
    return tensor::load(load.buffer, load.indices, predicate);
  }

  Expr known(const Expr& load, const Expr& otherwise) const {
    for (const auto& [var, value] : names())
      if (tensor::structurally_equal(value, load)) return var;
    return otherwise;
  }
  Expr named_once(const Expr& load) {
    const Expr var = known(load, nullptr);
    return var ? var : named(load);
  }

  std::vector<Expr> path_;  // conditions of the sides around
  analysis::RangeMap ranges_;
  analysis::Simplifier simplifier_;
};

}  // namespace

ir::Function hoist_loads(const ir::Function& function) {
  ir::Function out = function;
  out.body = LoadHoister(function)(function.body);
  return out;
}

}  // namespace tf::passes
