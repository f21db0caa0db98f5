#include "compiler/passes/vectorize.h"

#include <map>

namespace tf::passes {
namespace {

using ir::as;
using ir::Expr;
using ir::Stmt;

Expr widened(const Expr& expr, int lanes) {
  return expr->type().lanes == lanes ? expr : tensor::broadcast(expr, lanes);
}

// One loop's body over all lanes. `ok` becomes false where that is not possible.
class LaneRewriter {
 public:
  LaneRewriter(const ir::Var& var, const Expr& first, int lanes) : lanes_(lanes) {
    values_[var.get()] = tensor::ramp(first, tensor::imm(1), lanes);
  }
  bool ok() const { return ok_; }

  // `mask` holds in the lanes that run; null: all.
  Stmt statement(const Stmt& stmt, const Expr& mask) {
    if (const auto* s = as<ir::Store>(stmt)) return store(*s, mask);
    if (const auto* s = as<ir::Seq>(stmt)) {
      std::vector<Stmt> out;
      for (const Stmt& child : s->stmts) out.push_back(statement(child, mask));
      return ir::seq(std::move(out));
    }
    if (const auto* s = as<ir::If>(stmt)) return branch(*s, mask);
    if (const auto* s = as<ir::Let>(stmt)) {
      Expr value = tensor::substitute(s->value, values_);
      values_[s->var.get()] = value;
      return statement(s->body, mask);
    }
    ok_ = false;
    return stmt;
  }

 private:
  Stmt store(const ir::Store& s, const Expr& mask) {
    std::vector<Expr> indices;
    bool moves = false;
    for (const Expr& index : s.indices) {
      indices.push_back(tensor::substitute(index, values_));
      moves = moves || indices.back()->type().is_vector();
    }
    ok_ = ok_ && moves;
    Expr predicate = s.predicate ? tensor::substitute(s.predicate, values_) : nullptr;
    predicate = tensor::both(predicate, mask);
    if (predicate) predicate = widened(predicate, lanes_);
    return ir::store(s.buffer, std::move(indices), widened(tensor::substitute(s.value, values_), lanes_),
                     predicate);
  }

  Stmt branch(const ir::If& s, const Expr& mask) {
    const Expr condition = tensor::substitute(s.condition, values_);
    if (!condition->type().is_vector())
      return ir::make_stmt<ir::If>(condition, statement(s.then_body, mask),
                                   s.else_body ? statement(s.else_body, mask) : nullptr);
    Stmt then_body = statement(s.then_body, tensor::both(mask, condition));
    if (!s.else_body) return then_body;
    const Expr otherwise = tensor::logical_not(condition);
    return ir::seq({then_body, statement(s.else_body, tensor::both(mask, otherwise))});
  }

  const int lanes_;
  tensor::Substitution values_;
  bool ok_ = true;
};

class Vectorizer final : public ir::Rewriter {
 protected:
  Expr rewrite(const Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    const auto* loop = as<ir::For>(stmt);
    if (!loop || loop->for_kind != ir::ForKind::kVectorized) return recurse(stmt);
    const auto extent = tensor::as_int(loop->extent);
    if (extent && *extent > 1 && *extent <= 256) {
      LaneRewriter lanes(loop->var, loop->min, static_cast<int>(*extent));
      Stmt body = lanes.statement(loop->body, nullptr);
      if (lanes.ok()) return body;
    }
    return ir::make_for(loop->var, loop->min, loop->extent, ir::ForKind::kSerial, (*this)(loop->body));
  }
};

}  // namespace

ir::Function vectorize(const ir::Function& function) {
  ir::Function out = function;
  out.body = Vectorizer()(function.body);
  return out;
}

}  // namespace tf::passes
