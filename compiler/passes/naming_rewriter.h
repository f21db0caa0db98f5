#pragma once
// Owns: what passes share that give parts of a statement's expressions names, before the statement. Does not
// know: which parts.

#include <utility>
#include <vector>

#include "compiler/ir/stmt.h"

namespace tf::passes {

// A pass that says what becomes of each statement's expressions, and names values on the way:
//
//   c[0] = f(a[0])    →    let v = a[0]
//                          c[0] = f(v)
class NamingRewriter : public ir::Rewriter {
 protected:
  // The whole of one expression of a statement.
  virtual ir::Expr expression(const ir::Expr& expr) = 0;

  // The variable stands for the value from here on.
  ir::Var named(const ir::Expr& value) {
    names_.emplace_back(tensor::var("v", value->type()), value);
    return names_.back().first;
  }
  // Those of the statement at hand.
  const std::vector<std::pair<ir::Var, ir::Expr>>& names() const { return names_; }

  ir::Expr rewrite(const ir::Expr& expr) final { return expression(expr); }
  ir::Stmt rewrite(const ir::Stmt& stmt) override {
    auto around = std::exchange(names_, {});
    ir::Stmt out = recurse(stmt);
    for (auto it = names_.rbegin(); it != names_.rend(); ++it)
      out = ir::make_stmt<ir::Let>(it->first, it->second, out);
    names_ = std::move(around);
    return out;
  }

 private:
  std::vector<std::pair<ir::Var, ir::Expr>> names_;
};

}  // namespace tf::passes
