#include <algorithm>
#include <vector>

#include "compiler/analysis/access.h"
#include "compiler/analysis/simplifier.h"
#include "compiler/passes/fresh_variables.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Expr;
using ir::Stmt;

class LaneParter final : public ir::Rewriter {
 public:
  explicit LaneParter(const ir::Function& function)
      : ranges_(analysis::ranges_of(function.dims)), simplifier_(ranges_) {}

 protected:
  Expr rewrite(const Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    const auto* loop = as<ir::For>(stmt);
    if (loop == nullptr) return recurse(stmt);
    simplifier_.enter(*loop);
    return loop->for_kind == ir::ForKind::kVectorized ? parted(*loop, stmt) : recurse(stmt);
  }

 private:
  Stmt parted(const ir::For& loop, const Stmt& stmt) {
    std::vector<Expr> same;  // in all lanes
    Expr differing;
    Stmt body = loop.body;
    for (const ir::If* branch = as<ir::If>(body); branch != nullptr; branch = as<ir::If>(body)) {
      if (branch->else_body || analysis::contains_load(branch->condition)) break;
      if (analysis::uses(branch->condition, loop.var.get()))
        differing = tensor::both(differing, branch->condition);
      else
        same.push_back(branch->condition);
      body = branch->then_body;
    }
    if (same.empty() && !differing) return stmt;
    const auto with = [&](ir::ForKind kind, const Stmt& lanes) {
      return ir::make_for(loop.var, loop.min, loop.extent, kind, lanes);
    };
    Stmt out;
    if (!differing) {
      out = with(ir::ForKind::kVectorized, body);
    } else {
      const Stmt guarded = ir::make_stmt<ir::If>(differing, body);
      const Expr all = tensor::substitute(differing, {{loop.var.get(), loop.min + loop.extent - 1}});
      out = suffices(all, differing)
                ? ir::make_stmt<ir::If>(all, with(ir::ForKind::kVectorized, body),
                                        with_fresh_variables(with(ir::ForKind::kUnrolled, guarded)))
                : with(ir::ForKind::kVectorized, guarded);
    }
    for (size_t i = same.size(); i-- > 0;) out = ir::make_stmt<ir::If>(same[i], out);
    return out;
  }

  // Whether the other condition holds where this one does.
  bool suffices(const Expr& condition, const Expr& other) {
    const auto mark = simplifier_.push_facts(condition, true);
    const bool known = tensor::as_int(simplifier_.narrow(other)) == 1;
    simplifier_.pop_facts(mark);
    return known;
  }

  analysis::RangeMap ranges_;
  analysis::Simplifier simplifier_;
};

}  // namespace

ir::Function part_lanes(const ir::Function& function) {
  ir::Function out = function;
  out.body = LaneParter(function)(function.body);
  return out;
}

}  // namespace tf::passes
