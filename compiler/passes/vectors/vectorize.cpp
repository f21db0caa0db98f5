#include <algorithm>
#include <optional>

#include "compiler/analysis/simplify.h"
#include "compiler/passes/passes.h"
#include "compiler/tensor/rebuild.h"

namespace tf::passes {
namespace {

using ir::as;
using ir::Expr;
using ir::Intrinsic;
using ir::Stmt;

// target = target + x and the like, in pieces.
struct Accumulation {
  tensor::Combiner combiner = tensor::Combiner::kSum;
  Intrinsic fold = Intrinsic::kReduceAdd;
  Expr target, x;
};

std::optional<Accumulation> accumulation_of(const ir::Store& s) {
  const auto* binary = as<ir::Binary>(s.value);
  if (!binary) return std::nullopt;
  Accumulation found;
  switch (binary->op) {
    case ir::BinaryOp::kAdd:
      break;
    case ir::BinaryOp::kMax:
      found.combiner = tensor::Combiner::kMax;
      found.fold = Intrinsic::kReduceMax;
      break;
    case ir::BinaryOp::kMin:
      found.combiner = tensor::Combiner::kMin;
      found.fold = Intrinsic::kReduceMin;
      break;
    default:
      return std::nullopt;
  }
  auto is_target = [&](const Expr& e) {
    const auto* load = as<ir::Load>(e);
    if (!load || !load->buffer.same_as(s.buffer)) return false;
    return std::equal(load->indices.begin(), load->indices.end(), s.indices.begin(), s.indices.end(),
                      tensor::structurally_equal);
  };
  const bool left = is_target(binary->a);
  if (!left && !is_target(binary->b)) return std::nullopt;
  found.target = left ? binary->a : binary->b;
  found.x = left ? binary->b : binary->a;
  bool reads_target = false;
  tensor::for_each(found.x, [&](const Expr& e) {
    const auto* load = as<ir::Load>(e);
    reads_target = reads_target || (load && load->buffer.same_as(s.buffer));
    return !reads_target;
  });
  return reads_target ? std::nullopt : std::optional(found);
}

// One loop's body over all lanes. `ok` becomes false where that is not possible.
class LaneRewriter {
 public:
  LaneRewriter(const ir::For& loop, int lanes)
      : lanes_(lanes), folds_(loop.for_kind == ir::ForKind::kFolded) {
    values_[loop.var.get()] = tensor::ramp(loop.min, tensor::imm(1), lanes);
  }
  bool ok() const { return ok_; }

  // `mask` holds in the lanes that run; null: all.
  Stmt statement(const Stmt& stmt, const Expr& mask) {
    if (const auto* s = as<ir::Store>(stmt)) return store(*s, mask);
    if (const auto* s = as<ir::Seq>(stmt)) {
      ok_ = ok_ && !folds_;
      std::vector<Stmt> out;
      for (const Stmt& child : s->stmts) out.push_back(statement(child, mask));
      return ir::seq(std::move(out));
    }
    if (const auto* s = as<ir::If>(stmt)) return branch(*s, mask);
    if (const auto* s = as<ir::AsyncCopy>(stmt)) return copy(*s, mask);
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
    Expr predicate = s.predicate ? tensor::substitute(s.predicate, values_) : nullptr;
    predicate = tensor::both(predicate, mask);
    ok_ = ok_ && moves != folds_;
    if (folds_) return fold(s, predicate);
    if (predicate) predicate = tensor::widened(predicate, lanes_);
    return ir::store(s.buffer, std::move(indices),
                     tensor::widened(tensor::substitute(s.value, values_), lanes_), predicate);
  }

  // One copy of as many elements, if they are neighbours on both sides and all or none are copied.
  Stmt copy(const ir::AsyncCopy& s, const Expr& mask) {
    std::vector<Expr> target = first_of_neighbours(s.target_indices),
                      source = first_of_neighbours(s.source_indices);
    const Expr predicate = s.predicate ? tensor::substitute(s.predicate, values_) : nullptr;
    ok_ = ok_ && !folds_ && !mask && s.elements == 1 && s.box.empty() && !target.empty() && !source.empty() &&
          (!predicate || !predicate->type().is_vector());
    if (!ok_) return Stmt(&s);
    return ir::make_stmt<ir::AsyncCopy>(s.target, std::move(target), s.source, std::move(source), lanes_,
                                        predicate);
  }

  // Of a flat access whose lanes are neighbours; else nothing.
  std::vector<Expr> first_of_neighbours(const std::vector<Expr>& indices) const {
    if (indices.size() != 1) return {};
    const Expr lanes = analysis::simplify(tensor::substitute(indices[0], values_));
    const auto* ramp = as<ir::Ramp>(lanes);
    return ramp && tensor::as_int(ramp->stride) == 1 ? std::vector<Expr>{ramp->base} : std::vector<Expr>{};
  }

  // Lanes that do not run give what changes nothing.
  Stmt fold(const ir::Store& s, const Expr& predicate) {
    const std::optional<Accumulation> sum = accumulation_of(s);
    ok_ = ok_ && sum;
    if (!ok_) return Stmt(&s);
    Expr x = tensor::widened(tensor::substitute(sum->x, values_), lanes_);
    if (predicate) {
      const Expr nothing = tensor::identity(sum->combiner, s.buffer->element);
      x = tensor::select(tensor::widened(predicate, lanes_), x, tensor::broadcast(nothing, lanes_));
    }
    const Expr folded = tensor::call(sum->fold, {x});
    return ir::store(s.buffer, s.indices, tensor::combine(sum->combiner, sum->target, folded));
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
  const bool folds_;
  tensor::Substitution values_;
  bool ok_ = true;
};

class Vectorizer final : public ir::Rewriter {
 protected:
  Expr rewrite(const Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    const auto* loop = as<ir::For>(stmt);
    const bool vector =
        loop && (loop->for_kind == ir::ForKind::kVectorized || loop->for_kind == ir::ForKind::kFolded);
    if (!vector) return recurse(stmt);
    const auto extent = tensor::as_int(loop->extent);
    if (extent && *extent > 1 && *extent <= 256) {
      LaneRewriter lanes(*loop, static_cast<int>(*extent));
      Stmt body = lanes.statement(loop->body, nullptr);
      if (lanes.ok()) return body;
    }
    return ir::make_for(loop->var, loop->min, loop->extent,
                        copies(loop->body) ? ir::ForKind::kUnrolled : ir::ForKind::kSerial,
                        (*this)(loop->body));
  }

  static bool copies(const Stmt& stmt) {
    class Find final : public ir::Visitor {
     public:
      bool found = false;

     protected:
      bool enter(const Stmt& inner) override { return !(found = found || as<ir::AsyncCopy>(inner)); }
      bool enter(const Expr&) override { return false; }
    };
    Find find;
    find(stmt);
    return find.found;
  }
};

}  // namespace

ir::Function vectorize(const ir::Function& function) {
  ir::Function out = function;
  out.body = Vectorizer()(function.body);
  return out;
}

}  // namespace tf::passes
