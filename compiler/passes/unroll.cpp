#include "compiler/passes/unroll.h"

#include "compiler/passes/fresh_variables.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Stmt;

int64_t count_statements(const Stmt& stmt) {
  struct Counter final : ir::Visitor {
    bool enter(const Stmt& s) override {
      if (s->kind() == ir::StmtKind::kStore) ++count;
      return true;
    }
    bool enter(const ir::Expr&) override { return false; }
    int64_t count = 0;
  } counter;
  counter(stmt);
  return counter.count;
}

bool has_loops(const Stmt& stmt) {
  struct Finder final : ir::Visitor {
    bool enter(const Stmt& s) override {
      found = found || s->kind() == ir::StmtKind::kFor || s->kind() == ir::StmtKind::kLet;
      return !found;
    }
    bool enter(const ir::Expr&) override { return false; }
    bool found = false;
  } finder;
  finder(stmt);
  return finder.found;
}

class Unroller final : public ir::Rewriter {
 protected:
  ir::Expr rewrite(const ir::Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    Stmt out = recurse(stmt);
    const auto* loop = as<ir::For>(out);
    if (!loop || loop->for_kind != ir::ForKind::kUnrolled) return out;
    const auto extent = tensor::as_int(loop->extent);
    if (!extent || *extent * count_statements(loop->body) > kMaxUnrolledStatements)
      return ir::make_for(loop->var, loop->min, loop->extent, ir::ForKind::kSerial, loop->body);
    std::vector<Stmt> copies;
    for (int64_t i = 0; i < *extent; ++i)
      copies.push_back(
          ir::substitute(i == 0 || !has_loops(loop->body) ? loop->body : with_fresh_variables(loop->body),
                         {{loop->var.get(), loop->min + i}}));
    return ir::seq(std::move(copies));
  }
};

}  // namespace

ir::Function unroll(const ir::Function& function) {
  ir::Function out = function;
  out.body = Unroller()(function.body);
  return out;
}

}  // namespace tf::passes
