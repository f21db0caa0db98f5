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

// Finds the iterations of a loop for which the conditions in its body hold, whatever the other variables are.
class HoldFinder final : public ir::Visitor {
 public:
  HoldFinder(const analysis::RangeMap& outer, const Var& var, const Interval& all)
      : ranges_(outer), simplifier_(ranges_), var_(var), holds_(all), all_(all) {
    simplifier_.set_range(var.get(), all);
  }

  // The found iterations, fewer than all of them and at least one; nothing otherwise.
  std::optional<Interval> find(const Stmt& body) {
    (*this)(body);
    if (holds_ == all_) return std::nullopt;
    return holds_;
  }
  int64_t nodes() const { return nodes_; }
  // Where the loop's variable stands inside of a quotient (loops that were fused): conditions on it alone and
  // on what is outside of the loop, which make conditions in the body hold whatever the variables in it are.
  const std::vector<Expr>& sufficient() const { return sufficient_; }

 protected:
  bool enter(const Stmt& stmt) override {
    ++nodes_;
    if (const auto* loop = as<ir::For>(stmt)) {
      inside_.push_back(loop->var);
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
    for (const analysis::Term& term : form.terms) {
      if (analysis::contains_load(term.atom)) return;  // it may be safe only where the guards inside hold
      bool is_inside = false;
      for (const Var& var : inside_) is_inside = is_inside || analysis::uses(term.atom, var.get());
      (is_inside ? inner : kept).add(term);
    }
    const Interval worst = analysis::interval_of(inner), outside = analysis::interval_of(kept);
    if (!worst.has_max() || kept.is_constant() || outside.min + worst.max >= 0) return;
    kept.constant += worst.max;
    const Expr condition = analysis::to_less_than_zero(kept);
    if (!condition) return;
    for (const Expr& known : sufficient_)
      if (tensor::structurally_equal(known, condition)) return;
    sufficient_.push_back(condition);
  }

  const analysis::RangeMap& ranges_;
  analysis::Simplifier simplifier_;
  std::vector<Var> inside_;
  std::vector<Expr> sufficient_;
  const Var& var_;
  Interval holds_;
  const Interval all_;
  int64_t nodes_ = 0;
};

class Partitioner final : public ir::Rewriter {
 protected:
  Expr rewrite(const Expr& expr) override { return expr; }

  Stmt rewrite(const Stmt& stmt) override {
    const auto* loop = as<ir::For>(stmt);
    if (!loop) return recurse(stmt);
    analysis::Simplifier simplifier(ranges_);
    const std::optional<Interval> all = simplifier.iterations(*loop);
    const bool known = all && tensor::as_int(loop->min) && tensor::as_int(loop->extent);
    const bool peelable = loop->for_kind == ir::ForKind::kSerial || loop->for_kind == ir::ForKind::kParallel;
    if (known && peelable && all->min < all->max && depth_ < kMostPeeled) {
      HoldFinder finder(ranges_, loop->var, *all);
      const std::optional<Interval> holds = finder.find(loop->body);
      const bool is_small = finder.nodes() <= (depth_ < 2 ? kMaxPeeledNodes : kMaxPeeledTwiceNodes);
      if (holds && is_small)
        return loop->for_kind == ir::ForKind::kSerial ? pieces(*loop, *all, *holds)
                                                      : branches(*loop, *all, *holds);
      if (!finder.sufficient().empty() && is_small) return branch_on(*loop, *all, finder.sufficient());
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
  Stmt branch_on(const ir::For& loop, const Interval& all, const std::vector<Expr>& conditions) {
    Expr together = conditions[0];
    for (size_t i = 1; i < conditions.size(); ++i) together = tensor::logical_and(together, conditions[i]);
    ranges_[loop.var.get()] = all;
    Stmt body = analysis::simplify(
        ir::make_stmt<ir::If>(together, loop.body, with_fresh_variables(loop.body)), ranges_);
    ++depth_;
    body = (*this)(body);
    --depth_;
    return ir::make_for(loop.var, loop.min, loop.extent, loop.for_kind, body);
  }

  static constexpr int kMostPeeled = 3;

  analysis::RangeMap ranges_;
  int depth_ = 0;  // how often what is looked at was peeled off
};

}  // namespace

ir::Function partition_loops(const ir::Function& function) {
  ir::Function out = function;
  out.body = Partitioner()(function.body);
  return out;
}

}  // namespace tf::passes
