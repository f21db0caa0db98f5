#include <algorithm>
#include <optional>
#include <vector>

#include "base/whole_division.h"
#include "compiler/analysis/access.h"
#include "compiler/analysis/simplifier.h"
#include "compiler/analysis/simplify.h"
#include "compiler/passes/fresh_variables.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using analysis::Interval;
using analysis::Linear;
using ir::as;
using ir::Binary;
using ir::BinaryOp;
using ir::Expr;
using ir::Stmt;
using ir::Var;

// kept + inner < 0 holds where kept + inner's greatest value does; inner is made of variables inside of the loop.
struct Sufficient {
  Expr condition;
  Linear kept;
  Interval inner;
  bool is_of_vector = false;  // the lanes of one are in it
};

bool has_dims(const Linear& form, const std::vector<tensor::Dimension>& dims) {
  return std::ranges::any_of(form.terms, [&](const analysis::Term& term) {
    return std::ranges::any_of(
        dims, [&](const tensor::Dimension& dim) { return analysis::uses(term.atom, dim.var.get()); });
  });
}

// Finds the iterations of a loop for which the conditions in its body hold, whatever the other variables are.
class HoldFinder final : public ir::Visitor {
 public:
  HoldFinder(const analysis::RangeMap& outer, const std::vector<tensor::Dimension>& dims, const Var& var,
             const Interval& all)
      : ranges_(outer), simplifier_(ranges_), dims_(dims), var_(var), holds_(all), all_(all) {
    simplifier_.set_range(var.get(), all);
  }

  // The found iterations, fewer than all of them and at least one; nothing otherwise.
  std::optional<Interval> find(const Stmt& body) {
    (*this)(body);
    if (holds_ == all_) return std::nullopt;
    return holds_;
  }
  int64_t nodes() const { return nodes_; }
  // Where the loop's variable stands inside of a quotient (loops that were fused), or named dimensions beside it:
  // conditions on it alone and on what is outside of the loop, which make conditions in the body hold whatever the
  // variables in it are.
  const std::vector<Sufficient>& sufficient() const { return sufficient_; }

 protected:
  bool enter(const Stmt& stmt) override {
    ++nodes_;
    if (const auto* loop = as<ir::For>(stmt)) {
      inside_.push_back({loop->var, loop->for_kind});
      simplifier_.enter(*loop);
    } else if (const auto* branch = as<ir::If>(stmt)) {
      condition(branch->condition);
    } else if (const auto* store = as<ir::Store>(stmt)) {
      if (store->predicate) condition(store->predicate);
    }
    return true;
  }

  bool enter(const Expr& expr) override {
    ++nodes_;
    if (const auto* select = as<ir::Select>(expr)) condition(select->condition);
    if (const auto* load = as<ir::Load>(expr); load && load->predicate) condition(load->predicate);
    return true;
  }

 private:
  void condition(const Expr& expr) {
    const auto* node = as<Binary>(expr);
    if (!node || !analysis::uses(expr, var_.get())) return;
    if (node->op == BinaryOp::kAnd) {
      condition(node->a);
      condition(node->b);
      return;
    }
    if (node->a->type() != tensor::kIndex || (node->op != BinaryOp::kLt && node->op != BinaryOp::kLe)) return;
    std::optional<Linear> form = simplifier_.whole_difference(node->a, node->b);
    if (!form) return;
    if (node->op == BinaryOp::kLe) form->constant -= 1;
    narrow(*form);
  }

  // form < 0 holds for all values of the other variables if coefficient * var + worst < 0.
  void narrow(const Linear& form) {
    if (has_dims(form, dims_)) return add_sufficient(form);
    Linear rest;
    rest.constant = form.constant;
    int64_t coefficient = 0;
    for (const analysis::Term& term : form.terms) {
      if (term.atom.get() == var_.get()) {
        coefficient = term.coefficient;
      } else if (analysis::uses(term.atom, var_.get())) {
        return add_sufficient(form);
      } else {
        rest.add(term);
      }
    }
    const Interval worst = analysis::interval_of(rest);
    if (coefficient == 0 || !worst.has_max()) return;
    Interval now = holds_;
    if (coefficient > 0)
      now.max = std::min(now.max, floor_quotient(-worst.max - 1, coefficient));
    else
      now.min = std::max(now.min, -floor_quotient(-worst.max - 1, -coefficient));
    if (now.min <= now.max) holds_ = now;  // what never holds is not peeled for
  }

  void add_sufficient(const Linear& form) {
    Linear kept, inner;
    kept.constant = form.constant;
    bool is_of_vector = false;
    for (const analysis::Term& term : form.terms) {
      if (analysis::contains_load(term.atom)) return;  // it may be safe only where the guards inside hold
      bool is_inside = false;
      for (const Inside& loop : inside_) {
        if (!analysis::uses(term.atom, loop.var.get())) continue;
        is_inside = true;
        is_of_vector =
            is_of_vector || loop.kind == ir::ForKind::kVectorized || loop.kind == ir::ForKind::kFolded;
      }
      (is_inside ? inner : kept).add(term);
    }
    const Interval worst = analysis::interval_of(inner), outside = analysis::interval_of(kept);
    if (!worst.has_max() || kept.is_constant() || outside.min + worst.max >= 0) return;
    Linear greatest = kept;
    greatest.constant += worst.max;
    const Expr condition = analysis::to_less_than_zero(greatest);
    if (!condition) return;
    for (const Sufficient& known : sufficient_)
      if (tensor::structurally_equal(known.condition, condition)) return;
    sufficient_.push_back({condition, kept, worst, is_of_vector});
  }

  struct Inside {
    Var var;
    ir::ForKind kind;
  };

  const analysis::RangeMap& ranges_;
  analysis::Simplifier simplifier_;
  const std::vector<tensor::Dimension>& dims_;
  std::vector<Inside> inside_;
  std::vector<Sufficient> sufficient_;
  const Var& var_;
  Interval holds_;
  const Interval all_;
  int64_t nodes_ = 0;
};

// Replaces conditions kept + inner < 0 for a kept that is a number there.
class KeptReplacer final : public ir::Rewriter {
 public:
  KeptReplacer(const Linear& kept, int64_t value, const analysis::RangeMap& ranges)
      : kept_(kept), value_(value), simplifier_(ranges) {}

 protected:
  Stmt rewrite(const Stmt& stmt) override {
    if (const auto* loop = as<ir::For>(stmt)) simplifier_.enter(*loop);
    return recurse(stmt);
  }

  Expr rewrite(const Expr& expr) override {
    const auto* node = as<Binary>(expr);
    const bool is_less = node && (node->op == BinaryOp::kLt || node->op == BinaryOp::kLe);
    if (!is_less || node->a->type() != tensor::kIndex) return recurse(expr);
    std::optional<Linear> form = simplifier_.whole_difference(node->a, node->b);
    if (!form) return expr;
    if (node->op == BinaryOp::kLe) form->constant -= 1;
    for (const analysis::Term& term : kept_.terms)
      if (form->coefficient_of(term.atom) != term.coefficient) return expr;
    form->add(kept_, -1);
    form->constant += value_;
    if (form->is_constant()) return tensor::imm({ir::Element::kBool, 1}, form->constant < 0 ? 1 : 0);
    const Expr condition = analysis::to_less_than_zero(*form);
    return condition ? condition : expr;
  }

 private:
  const Linear& kept_;
  const int64_t value_;
  analysis::Simplifier simplifier_;
};

class Partitioner final : public ir::Rewriter {
 public:
  explicit Partitioner(const std::vector<tensor::Dimension>& dims)
      : dims_(dims), ranges_(analysis::ranges_of(dims)) {}

 protected:
  Expr rewrite(const Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    const auto* loop = as<ir::For>(stmt);
    if (!loop) return recurse(stmt);
    analysis::Simplifier simplifier(ranges_);
    const std::optional<Interval> all = simplifier.iterations(*loop);
    const bool known = all && tensor::as_int(loop->min) && tensor::as_int(loop->extent);
    const bool peelable = loop->for_kind == ir::ForKind::kSerial || loop->for_kind == ir::ForKind::kParallel;
    const bool of_dims = all && !dims_.empty();
    if ((known || of_dims) && peelable && all->min < all->max && depth_ < kMostPeeled) {
      HoldFinder finder(ranges_, dims_, loop->var, *all);
      const std::optional<Interval> holds = finder.find(loop->body);
      const bool is_small = finder.nodes() <= (depth_ < 2 ? kMaxPeeledNodes : kMaxPeeledTwiceNodes);
      if (known && holds && is_small)
        return loop->for_kind == ir::ForKind::kSerial ? pieces(*loop, *all, *holds)
                                                      : branches(*loop, *all, *holds);
      if (!finder.sufficient().empty() && is_small) return branch_on(*loop, *all, finder);
    }
    if (all) ranges_[loop->var.get()] = *all;
    return recurse(stmt);
  }

 private:
  // The body for a range of iterations, simplified for them.
  Stmt body_for(const ir::For& loop, const Interval& range, bool peeled) {
    depth_ += peeled ? 1 : 0;
    ranges_[loop.var.get()] = range;
    Stmt body = (*this)(analysis::simplify(loop.body, ranges_));
    depth_ -= peeled ? 1 : 0;
    return body;
  }

  Stmt piece(const ir::For& loop, const Interval& range, bool peeled) {
    if (range.min > range.max) return nullptr;
    Stmt out = ir::make_for(loop.var, tensor::imm(range.min), tensor::imm(range.max - range.min + 1),
                            loop.for_kind, body_for(loop, range, peeled));
    return peeled ? with_fresh_variables(out) : out;
  }

  Stmt pieces(const ir::For& loop, const Interval& all, const Interval& holds) {
    Stmt before = piece(loop, {all.min, holds.min - 1}, true);
    Stmt middle = piece(loop, holds, false);
    return ir::seq({before, middle, piece(loop, {holds.max + 1, all.max}, true)});
  }

  Stmt branches(const ir::For& loop, const Interval& all, const Interval& holds) {
    Expr inside = tensor::imm({ir::Element::kBool, 1}, 1);
    if (holds.min > all.min) inside = tensor::logical_and(inside, tensor::imm(holds.min) <= loop.var);
    if (holds.max < all.max) inside = tensor::logical_and(inside, loop.var < tensor::imm(holds.max + 1));
    Interval outside = all;
    if (holds.min == all.min) outside.min = holds.max + 1;
    if (holds.max == all.max) outside.max = holds.min - 1;
    Stmt then_body = body_for(loop, holds, false);
    Stmt else_body = with_fresh_variables(body_for(loop, outside, true));
    return ir::make_for(loop.var, loop.min, loop.extent, loop.for_kind,
                        ir::make_stmt<ir::If>(inside, then_body, else_body));
  }

  // The body twice: where all of the conditions hold, and elsewhere.
  Stmt branch_on(const ir::For& loop, const Interval& all, const HoldFinder& finder) {
    Expr together;
    for (const Sufficient& each : finder.sufficient()) together = tensor::both(together, each.condition);
    ranges_[loop.var.get()] = all;
    Stmt elsewhere = with_fresh_variables(loop.body);
    const auto of_rows = std::ranges::find_if(finder.sufficient(), [&](const Sufficient& each) {
      return has_dims(each.kept, dims_) && !each.is_of_vector && each.inner.min < each.inner.max;
    });
    if (of_rows != finder.sufficient().end()) elsewhere = case_by_case(elsewhere, *of_rows, finder.nodes());
    // The loop's own bound may be what decides a condition inside.
    const Stmt whole = analysis::simplify(ir::make_for(loop.var, loop.min, loop.extent, loop.for_kind,
                                                       ir::make_stmt<ir::If>(together, loop.body, elsewhere)),
                                          ranges_);
    const auto* simplified = as<ir::For>(whole);
    if (!simplified) return whole;
    ++depth_;
    Stmt body = (*this)(simplified->body);
    --depth_;
    return ir::make_for(loop.var, loop.min, loop.extent, loop.for_kind, body);
  }

  // Where named dimensions end inside of a tile, a body for each number of rows that are left: its loops have
  // numbers for bounds, as those of a full tile.
  Stmt case_by_case(const Stmt& body, const Sufficient& condition, int64_t nodes) {
    const int64_t first = condition.inner.min + 1, last = condition.inner.max;
    if (!condition.inner.has_min() || last - first >= kMostCases ||
        (last - first + 1) * nodes > kMaxCaseNodes)
      return body;
    Stmt out = body;
    for (int64_t rows = first; rows <= last; ++rows) {
      KeptReplacer replace(condition.kept, -rows, ranges_);
      out = ir::make_stmt<ir::If>(tensor::equal(analysis::to_expr(condition.kept), tensor::imm(-rows)),
                                  with_fresh_variables(replace(body)), out);
    }
    return out;
  }

  static constexpr int kMostPeeled = 3;
  static constexpr int64_t kMostCases = 16, kMaxCaseNodes = 4 * kMaxPeeledNodes;

  const std::vector<tensor::Dimension>& dims_;
  analysis::RangeMap ranges_;
  int depth_ = 0;  // how often what is looked at was peeled off
};

}  // namespace

ir::Function partition_loops(const ir::Function& function) {
  ir::Function out = function;
  out.body = Partitioner(function.dims)(function.body);
  return out;
}

}  // namespace tf::passes
