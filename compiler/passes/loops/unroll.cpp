#include "compiler/passes/fresh_variables.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Stmt;

// Stores, those in loops that are written out as often as there will be copies of them.
int64_t count_stores(const Stmt& stmt) {
  struct Counter final : ir::Visitor {
    bool enter(const Stmt& s) override {
      if (s->kind() == ir::StmtKind::kStore || s->kind() == ir::StmtKind::kMatrixOp ||
          s->kind() == ir::StmtKind::kLaneFold)
        ++count;
      const auto* loop = as<ir::For>(s);
      if (loop == nullptr || loop->for_kind != ir::ForKind::kUnrolled) return true;
      const int64_t once = count_stores(loop->body), all = once * tensor::as_int(loop->extent).value_or(1);
      count += all <= kMaxUnrolledStatements ? all : once;
      return false;
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
    if (!is_written_out(extent, loop->body))
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

bool is_written_out(std::optional<int64_t> extent, const Stmt& body) {
  return extent && *extent * count_stores(body) <= kMaxUnrolledStatements;
}

ir::Function unroll(const ir::Function& function) {
  ir::Function out = function;
  out.body = Unroller()(function.body);
  return out;
}

}  // namespace tf::passes
