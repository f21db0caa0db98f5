#include "compiler/analysis/simplify.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Stmt;

// Whether the variable is taken apart again somewhere.
bool takes_apart(const Stmt& stmt, const tensor::VarNode* var) {
  struct Finder final : ir::Visitor {
    bool enter(const ir::Expr& e) override {
      const auto* binary = as<ir::Binary>(e);
      found = found || (binary != nullptr && binary->a.get() == var &&
                        (binary->op == ir::BinaryOp::kFloorDiv || binary->op == ir::BinaryOp::kFloorMod));
      return !found;
    }
    const tensor::VarNode* var = nullptr;
    bool found = false;
  } finder;
  finder.var = var;
  finder(stmt);
  return finder.found;
}

// The extent of an unrolled loop from 0; 0 for anything else.
int64_t unrolled_extent(const ir::For* loop) {
  if (loop == nullptr || loop->for_kind != ir::ForKind::kUnrolled) return 0;
  return tensor::as_int(loop->min) == 0 ? tensor::as_int(loop->extent).value_or(0) : 0;
}

class Merger final : public ir::Rewriter {
 protected:
  ir::Expr rewrite(const ir::Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    const Stmt out = recurse(stmt);
    const auto* outer = as<ir::For>(out);
    const int64_t extent = unrolled_extent(outer);
    if (extent == 0) return out;
    const auto* inner = as<ir::For>(outer->body);
    const int64_t length = unrolled_extent(inner);
    if (length == 0 || !is_written_out(extent * length, inner->body)) return out;
    const tensor::Var both = tensor::var(outer->var->name);
    const Stmt body = ir::substitute(inner->body, {{outer->var.get(), tensor::floor_div(both, length)},
                                                   {inner->var.get(), tensor::floor_mod(both, length)}});
    const Stmt merged = analysis::simplify(
        ir::make_for(both, tensor::imm(0), tensor::imm(extent * length), ir::ForKind::kUnrolled, body));
    return takes_apart(merged, both.get()) ? out : merged;
  }
};

}  // namespace

ir::Function merge_unrolled(const ir::Function& function) {
  ir::Function out = function;
  out.body = Merger()(function.body);
  return out;
}

}  // namespace tf::passes
