#include "compiler/passes/fresh_variables.h"

namespace tf::passes {
namespace {

class Renamer final : public ir::Rewriter {
 protected:
  ir::Expr rewrite(const ir::Expr& expr) override {
    return names_.empty() ? expr : tensor::substitute(expr, names_);
  }

  ir::Stmt rewrite(const ir::Stmt& stmt) override {
    if (const auto* loop = ir::as<ir::For>(stmt)) {
      const ir::Expr low = rewrite(loop->min), extent = rewrite(loop->extent);
      const ir::Var var = fresh(loop->var);
      return ir::make_for(var, low, extent, loop->for_kind, (*this)(loop->body));
    }
    if (const auto* let = ir::as<ir::Let>(stmt)) {
      const ir::Expr value = rewrite(let->value);
      const ir::Var var = fresh(let->var);
      return ir::make_stmt<ir::Let>(var, value, (*this)(let->body));
    }
    return recurse(stmt);
  }

 private:
  ir::Var fresh(const ir::Var& var) {
    const ir::Var copy = tensor::var(var->name, var->type());
    names_[var.get()] = copy;
    return copy;
  }

  tensor::Substitution names_;
};

}  // namespace

ir::Stmt with_fresh_variables(const ir::Stmt& stmt) {
  return Renamer()(stmt);
}

}  // namespace tf::passes
