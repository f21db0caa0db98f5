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
    Expr out = tensor::with_operands(expr, operands);
    const auto* load = as<ir::Load>(out);
    return load && !path_.empty() ? named_once(safe(*load, out)) : out;
  }

  // Names loads outside of sides that were named for a side.
  Expr reuse(const Expr& expr) {
    if (names().empty()) return expr;
    return tensor::rewrite(expr, [&](const Expr& e) { return as<ir::Load>(e) ? known(e, e) : e; });
  }

  // A load that is not known to be inside keeps the conditions that it stood under. One of a scalar cannot keep those that
  // differ between lanes: it is not performed outside instead, where no lane counts.
  Expr safe(const ir::Load& load, const Expr& expr) {
    const Expr &index = load.indices[0], &extent = load.buffer->extents[0];
    const analysis::Interval range = simplifier_.values(index);
    const bool is_below = range.max < tensor::as_int(extent).value_or(0);
    if (range.min >= 0 && is_below) return expr;
    Expr predicate = load.predicate;
    bool in_some_lanes = false;
    for (const Expr& condition : path_) {
      const auto* same = as<ir::Broadcast>(condition);
      const Expr narrow = same ? same->value : condition;
      if (narrow->type().is_vector() && !load.type().is_vector())
        in_some_lanes = true;
      else
        predicate = tensor::both(predicate, narrow);
    }
    if (in_some_lanes && range.min < 0) predicate = tensor::both(predicate, tensor::imm(0) <= index);
    if (in_some_lanes && !is_below) predicate = tensor::both(predicate, index < extent);
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
