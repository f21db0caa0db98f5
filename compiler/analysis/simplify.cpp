#include "compiler/analysis/simplify.h"

#include <algorithm>
#include <utility>

#include "compiler/analysis/access.h"
#include "compiler/analysis/simplifier.h"
#include "compiler/tensor/rebuild.h"

namespace tf::analysis {
namespace {

using ir::as;
using ir::Stmt;

bool is_empty(const Stmt& stmt) {
  const auto* sequence = as<ir::Seq>(stmt);
  return !stmt || (sequence && sequence->stmts.empty());
}

Stmt nothing() {
  return ir::seq({});
}

class StmtSimplifier final : public ir::Rewriter {
 public:
  explicit StmtSimplifier(const RangeMap& ranges) : exprs_(ranges) {}

 protected:
  Expr rewrite(const Expr& expr) override { return exprs_.simplify(expr); }

  Stmt rewrite(const Stmt& stmt) override {
    switch (stmt->kind()) {
      case ir::StmtKind::kFor:
        return loop(*as<ir::For>(stmt), stmt);
      case ir::StmtKind::kIf:
        return branch(*as<ir::If>(stmt), stmt);
      case ir::StmtKind::kLet:
        return let(*as<ir::Let>(stmt), stmt);
      case ir::StmtKind::kStore:
        return store(*as<ir::Store>(stmt), stmt);
      case ir::StmtKind::kSeq:
        return sequence(*as<ir::Seq>(stmt), stmt);
      case ir::StmtKind::kAllocate: {
        Stmt out = recurse(stmt);
        return is_empty(as<ir::Allocate>(out)->body) ? nothing() : out;
      }
      case ir::StmtKind::kAsyncCopy:
        return copy(*as<ir::AsyncCopy>(stmt), stmt);
      case ir::StmtKind::kBarrier:
      case ir::StmtKind::kAsyncWait:
      case ir::StmtKind::kMatrixOp:
      case ir::StmtKind::kLaneFold:
        return recurse(stmt);
    }
    __builtin_unreachable();
  }

 private:
  Stmt loop(const ir::For& s, const Stmt& stmt) {
    exprs_.data().enter(s);
    const Expr low = exprs_.simplify(s.min), extent = exprs_.simplify(s.extent);
    const Linear low_form = exprs_.linear(s.min), extent_form = exprs_.linear(s.extent);
    const Interval count = values_of(extent_form);
    if (count.has_max() && count.max <= 0) return nothing();
    if (extent_form.is_constant() && extent_form.constant == 1) {
      // The body may write what the minimum was read from.
      if (contains_load(low)) return rewrite(ir::make_stmt<ir::Let>(s.var, low, s.body));
      exprs_.set_value(s.var.get(), low);
      return rewrite(s.body);
    }
    Linear last = low_form;
    last.add(extent_form);
    last.constant -= 1;
    const Interval first = values_of(low_form), end = values_of(last);
    // A loop that never runs says nothing about its bounds.
    const bool runs = first.min <= end.max;
    exprs_.set_range(s.var.get(), runs ? Interval{first.min, end.max} : Interval::everything());
    exprs_.bound(s.var, low_form, extent_form);
    Stmt body = rewrite(s.body);
    if (is_empty(body)) return nothing();
    if (low.same_as(s.min) && extent.same_as(s.extent) && body.same_as(s.body)) return stmt;
    return ir::make_stmt<ir::For>(s.var, low, extent, s.for_kind, body);
  }

  // Indices of what is not read where the predicate does not hold.
  std::vector<Expr> read_at(const std::vector<Expr>& indices, const Expr& predicate) {
    std::vector<Expr> out;
    out.reserve(indices.size());
    const Simplifier::Mark mark = exprs_.push_facts(predicate, true);
    for (const Expr& index : indices) out.push_back(exprs_.simplify(index));
    exprs_.pop_facts(mark);
    return out;
  }

  Stmt copy(const ir::AsyncCopy& s, const Stmt& stmt) {
    const Expr predicate = s.predicate ? exprs_.simplify(s.predicate) : nullptr;
    if (!predicate || as_int(predicate)) {
      Stmt out = recurse(stmt);
      const auto& copied = *as<ir::AsyncCopy>(out);
      if (as_int(copied.predicate) != 1) return out;
      return ir::make_stmt<ir::AsyncCopy>(copied.target, copied.target_indices, copied.source,
                                          copied.source_indices, copied.elements);
    }
    std::vector<Expr> target;
    target.reserve(s.target_indices.size());
    for (const Expr& index : s.target_indices) target.push_back(exprs_.simplify(index));
    return ir::make_stmt<ir::AsyncCopy>(s.target, std::move(target), s.source,
                                        read_at(s.source_indices, predicate), s.elements, predicate);
  }

  Stmt under(const Expr& condition, bool holds, const Stmt& body) {
    if (!body) return nullptr;
    const Simplifier::Mark mark = exprs_.push_facts(condition, holds);
    Stmt out = rewrite(body);
    exprs_.pop_facts(mark);
    return out;
  }

  Stmt branch(const ir::If& s, const Stmt& stmt) {
    const Expr condition = exprs_.simplify(s.condition);
    if (auto known = as_int(condition)) {
      if (*known != 0) return rewrite(s.then_body);
      return s.else_body ? rewrite(s.else_body) : nothing();
    }
    Stmt then_body = under(condition, true, s.then_body);
    Stmt else_body = under(condition, false, s.else_body);
    if (is_empty(else_body)) else_body = nullptr;
    if (is_empty(then_body)) {
      if (!else_body) return nothing();
      return ir::make_stmt<ir::If>(exprs_.simplify(tensor::logical_not(condition)), else_body);
    }
    if (condition.same_as(s.condition) && then_body.same_as(s.then_body) && else_body.same_as(s.else_body))
      return stmt;
    return ir::make_stmt<ir::If>(condition, then_body, else_body);
  }

  Stmt let(const ir::Let& s, const Stmt& stmt) {
    exprs_.data().enter(s);
    const Expr value = exprs_.simplify(s.value);
    const Expr narrow = as<ir::Broadcast>(value) ? as<ir::Broadcast>(value)->value : value;
    if (as<VarNode>(narrow) || as<ir::IntImm>(narrow) || as<ir::FloatImm>(narrow)) {
      exprs_.set_value(s.var.get(), value);
      return rewrite(s.body);
    }
    const bool is_index = value->type().element == ir::Element::kInt64;
    exprs_.set_range(s.var.get(), is_index ? exprs_.values(s.value) : element_range(value->type().element));
    Stmt body = rewrite(s.body);
    if (is_empty(body)) return nothing();
    if (value.same_as(s.value) && body.same_as(s.body)) return stmt;
    return ir::make_stmt<ir::Let>(s.var, value, body);
  }

  Stmt store(const ir::Store& s, const Stmt& stmt) {
    Expr predicate = s.predicate ? exprs_.simplify(s.predicate) : nullptr;
    if (predicate) {
      if (auto known = as_int(predicate)) {
        if (*known == 0) return nothing();
        predicate = nullptr;
      }
    }
    // Lanes of a store are those of its value or indices; an index that is the same in all lanes stays as
    // wide as it was only where no other index carries the lanes.
    std::vector<Expr> indices;
    int lanes = 1;
    for (const Expr& index : s.indices) {
      indices.push_back(exprs_.narrow(index));
      lanes = std::max(lanes, indices.back()->type().lanes);
    }
    bool same = predicate.same_as(s.predicate);
    for (size_t i = 0; i < indices.size(); ++i) {
      if (lanes == 1) indices[i] = tensor::widened(indices[i], s.indices[i]->type().lanes);
      if (tensor::structurally_equal(indices[i], s.indices[i])) indices[i] = s.indices[i];
      same = same && indices[i].same_as(s.indices[i]);
    }
    Expr value = exprs_.simplify(s.value);
    if (const auto* load = as<ir::Load>(value);
        load && load->predicate && !load->predicate->type().is_vector())
      value = tensor::load(load->buffer, read_at(load->indices, load->predicate), load->predicate);
    if (tensor::structurally_equal(value, s.value)) value = s.value;
    if (same && value.same_as(s.value)) return stmt;
    return ir::store(s.buffer, std::move(indices), value, predicate);
  }

  Stmt sequence(const ir::Seq& s, const Stmt& stmt) {
    std::vector<Stmt> out;
    bool same = s.stmts.size() != 1;
    for (const Stmt& child : s.stmts) {
      Stmt now = rewrite(child);
      same = same && now.same_as(child) && !is_empty(now);
      out.push_back(std::move(now));
    }
    return same ? stmt : ir::seq(std::move(out));
  }

  Simplifier exprs_;
};

}  // namespace

Expr simplify(const Expr& expr, const RangeMap& ranges) {
  return Simplifier(ranges).simplify(expr);
}

Stmt simplify(const Stmt& stmt, const RangeMap& ranges) {
  return StmtSimplifier(ranges)(stmt);
}

ir::Function simplify(const ir::Function& function, const RangeMap& ranges) {
  ir::Function out = function;
  RangeMap known = ranges_of(function.dims);
  known.insert(ranges.begin(), ranges.end());
  out.body = simplify(function.body, known);
  return out;
}

Interval tight_interval_of(const Expr& expr, const RangeMap& ranges) {
  Simplifier simplifier(ranges);
  if (expr->type().element == ir::Element::kInt64) return simplifier.values(expr);
  return interval_of(simplifier.narrow(expr), ranges);
}

}  // namespace tf::analysis
