// The Simplifier's scopes, and its half for everything that is not index arithmetic: conditions, loads,
// floats.
#include "compiler/analysis/simplifier.h"

#include <algorithm>
#include <utility>

#include "base/whole_division.h"
#include "compiler/analysis/access.h"
#include "compiler/tensor/rebuild.h"

namespace tf::analysis {
namespace {

using ir::as;
using ir::Binary;
using ir::BinaryOp;
using tensor::ExprKind;

bool is_equality(BinaryOp op) {
  return op == BinaryOp::kEq || op == BinaryOp::kNe;
}

bool is_comparison(BinaryOp op) {
  return is_equality(op) || op == BinaryOp::kLt || op == BinaryOp::kLe;
}

Expr truth(bool value) {
  return tensor::imm({ir::Element::kBool, 1}, value ? 1 : 0);
}

// The form negated over the whole numbers: not (f < 0) is -f - 1 < 0.
Linear not_negative(const Linear& form) {
  Linear out = constant_form(-1);
  out.add(form, -1);
  return out;
}

}  // namespace

Interval Simplifier::range_of(const VarNode* var) const {
  if (auto found = local_ranges_.find(var); found != local_ranges_.end()) return found->second;
  if (auto found = ranges_.find(var); found != ranges_.end()) return found->second;
  return element_range(var->type().element);
}

void Simplifier::forget() {
  linear_memo_.clear();
  narrow_memo_.clear();
  keep_.clear();
}

void Simplifier::set_range(const VarNode* var, const Interval& range) {
  local_ranges_[var] = range;
  values_.erase(var);  // a variable may be bound again beside its first scope
  forget();
}

std::optional<Interval> Simplifier::iterations(const ir::For& loop) {
  const Interval low = values(loop.min), extent = values(loop.extent);
  if (!low.is_bounded() || !extent.has_max() || extent.max < 1) return std::nullopt;
  return Interval{low.min, low.max + extent.max - 1};
}

void Simplifier::enter(const ir::For& loop) {
  data_.enter(loop);
  if (const std::optional<Interval> range = iterations(loop)) set_range(loop.var.get(), *range);
  bound(loop.var, linear(loop.min), linear(loop.extent));
}

void Simplifier::bound(const tensor::Var& var, const Linear& low, const Linear& extent) {
  if (low.is_constant() && extent.is_constant()) return;
  for (Linear& fact : facts_)  // of an earlier loop of that variable; marks count facts, so that none may go
    if (fact.find(var) >= 0) fact = constant_form(-1);
  if (!is_exact(low) || !is_exact(extent) || low.is_data() || extent.is_data()) return;
  const Linear index = atom_form(var, range_of(var.get()), false);
  Mark unused;
  if (!extent.is_constant()) {
    Linear above = difference(index, low);
    above.add(extent, -1);
    add_fact(std::move(above), &unused);
  }
  if (!low.is_constant()) {
    Linear below = difference(low, index);
    below.constant -= 1;
    add_fact(std::move(below), &unused);
  }
  forget();
}

void Simplifier::set_value(const VarNode* var, const Expr& value) {
  values_[var] = value;
  local_ranges_.erase(var);
  forget();
}

void Simplifier::add_fact(Linear form, Mark* mark) {
  // What a load gave may change before the fact is used.
  for (const Term& term : form.terms)
    if (contains_load(term.atom)) return;
  // One variable against a constant tightens the variable's range; anything else is kept as it is.
  if (form.terms.size() == 1) {
    const Term& term = form.terms[0];
    if (const auto* var = as<VarNode>(term.atom)) {
      const Interval old = range_of(var);
      Interval bound;
      if (term.coefficient == 1) bound.max = -form.constant - 1;
      if (term.coefficient == -1) bound.min = form.constant + 1;
      const Interval now = intersect(old, bound);
      if (now.min <= now.max && now != old) {
        mark->ranges.push_back({var, old});
        local_ranges_[var] = now;
      }
    }
  }
  facts_.push_back(std::move(form));
}

Simplifier::Mark Simplifier::push_facts(const Expr& condition, bool holds) {
  Mark mark;
  mark.facts = facts_.size();
  std::vector<std::pair<Expr, bool>> work = {{condition, holds}};
  while (!work.empty()) {
    const auto [expr, positive] = work.back();
    work.pop_back();
    if (const auto* wide = as<ir::Broadcast>(expr)) work.push_back({wide->value, positive});
    if (const auto* node = as<ir::Unary>(expr); node && node->op == ir::UnaryOp::kNot)
      work.push_back({node->a, !positive});
    const auto* node = as<Binary>(expr);
    if (!node) continue;
    if (node->op == (positive ? BinaryOp::kAnd : BinaryOp::kOr)) {
      work.push_back({node->b, positive});
      work.push_back({node->a, positive});
    }
    if (!is_index(node->a)) continue;
    const bool less = node->op == BinaryOp::kLt || node->op == BinaryOp::kLe;
    if (!less && node->op != (positive ? BinaryOp::kEq : BinaryOp::kNe)) continue;
    std::optional<Linear> form = whole_difference(node->a, node->b);
    if (!form) continue;
    if (less) {
      if (node->op == BinaryOp::kLe) form->constant -= 1;
      add_fact(positive ? *form : not_negative(*form), &mark);
    } else {
      Linear below = *form;
      below.constant -= 1;
      add_fact(std::move(below), &mark);
      Linear reverse;
      reverse.add(*form, -1);
      reverse.constant -= 1;
      add_fact(std::move(reverse), &mark);
    }
  }
  forget();
  return mark;
}

void Simplifier::pop_facts(const Mark& mark) {
  facts_.resize(mark.facts);
  for (auto it = mark.ranges.rbegin(); it != mark.ranges.rend(); ++it) local_ranges_[it->first] = it->second;
  forget();
}

Linear Simplifier::tightened(const Linear& form) const {
  Linear out = form;
  for (const Linear& fact : facts_) {
    if (fact.terms.size() != 1) continue;
    const Expr& atom = fact.terms[0].atom;
    const int64_t coefficient = fact.terms[0].coefficient;
    // coefficient * atom + constant < 0
    const int index = out.find(atom);
    if (index < 0) continue;
    Interval bound;
    if (coefficient > 0)
      bound.max = floor_quotient(-fact.constant - 1, coefficient);
    else
      bound.min = -floor_quotient(-fact.constant - 1, -coefficient);
    Interval& known = out.terms[static_cast<size_t>(index)].range;
    if (const Interval both = intersect(known, bound); both.min <= both.max) known = both;
  }
  return out;
}

int Simplifier::decide_negative(const Linear& given) const {
  const Linear form = tightened(given);
  const Interval range = analysis::interval_of(form);
  if (range.max < 0) return 1;
  if (range.min >= 0) return 0;
  const Linear opposite = not_negative(form);
  for (const Linear& fact : facts_) {
    // form <= fact < 0, or -form - 1 <= fact < 0.
    if (const Interval gap = analysis::interval_of(difference(form, fact)); gap.has_max() && gap.max <= 0)
      return 1;
    if (const Interval gap = analysis::interval_of(difference(opposite, fact)); gap.has_max() && gap.max <= 0)
      return 0;
  }
  return -1;
}

Expr Simplifier::simplify(const Expr& expr) {
  const Expr out = tensor::widened(narrow(expr), expr->type().lanes);
  return tensor::structurally_equal(out, expr) ? expr : out;
}

Expr Simplifier::narrow(const Expr& expr) {
  if (is_index(expr)) return expr_of(linear(expr));
  if (expr->kind() == ExprKind::kIntImm || expr->kind() == ExprKind::kFloatImm) return expr;
  if (auto found = narrow_memo_.find(expr.get()); found != narrow_memo_.end()) return found->second;
  Expr out = narrow_uncached(expr);
  if (narrow_memo_.emplace(expr.get(), out).second) keep_.push_back(expr);
  return out;
}

Expr Simplifier::narrow_uncached(const Expr& expr) {
  switch (expr->kind()) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
      return expr;
    case ExprKind::kVarNode: {
      auto found = values_.find(as<VarNode>(expr));
      if (found == values_.end()) return expr;
      const Expr value = found->second;
      return narrow(value);
    }
    case ExprKind::kUnary:
      return narrow_unary(*as<ir::Unary>(expr));
    case ExprKind::kBinary:
      return narrow_binary(*as<Binary>(expr));
    case ExprKind::kSelect:
      return narrow_select(*as<ir::Select>(expr));
    case ExprKind::kCast: {
      const Expr value = narrow(as<ir::Cast>(expr)->a);
      return tensor::cast({expr->type().element, value->type().lanes}, value);
    }
    case ExprKind::kCall:
      return narrow_call(*as<ir::Call>(expr), expr);
    case ExprKind::kLoad:
      return narrow_load(*as<ir::Load>(expr), expr);
    case ExprKind::kRamp: {  // of a narrow integer type
      const auto* node = as<ir::Ramp>(expr);
      return tensor::ramp(narrow(node->base), narrow(node->stride), expr->type().lanes);
    }
    case ExprKind::kBroadcast:
      return narrow(as<ir::Broadcast>(expr)->value);
  }
  __builtin_unreachable();
}

Expr Simplifier::narrow_unary(const ir::Unary& node) {
  const Expr a = narrow(node.a);
  if (node.op == ir::UnaryOp::kAbs) return tensor::abs(a);
  if (node.op == ir::UnaryOp::kNeg) return -a;
  if (const auto* inner = as<ir::Unary>(a); inner && inner->op == ir::UnaryOp::kNot) return inner->a;
  if (const auto* inner = as<Binary>(a)) {
    if (inner->op == BinaryOp::kEq) return tensor::not_equal(inner->a, inner->b);
    if (inner->op == BinaryOp::kNe) return tensor::equal(inner->a, inner->b);
    if (inner->op == BinaryOp::kLt && is_index(inner->a)) {
      const std::optional<Linear> form = whole_difference(inner->a, inner->b);
      const Expr opposite = form ? less_than_zero(not_negative(*form)) : nullptr;
      return opposite ? opposite : inner->b <= inner->a;
    }
  }
  return tensor::logical_not(a);
}

Expr Simplifier::narrow_binary(const Binary& node) {
  if (is_comparison(node.op) && is_index(node.a)) return compare(node);
  if (node.op == BinaryOp::kAnd || node.op == BinaryOp::kOr) return both(node);
  const Expr a = narrow(node.a), b = narrow(node.b);
  if (as_int(b) == 0 && divides_data(node))
    return node.op == BinaryOp::kFloorDiv ? a : tensor::imm(a->type(), 0);
  return tensor::binary(node.op, a, b);
}

bool Simplifier::divides_data(const Binary& node) const {
  const bool divides = node.op == BinaryOp::kFloorDiv || node.op == BinaryOp::kFloorMod;
  return divides && (data_.contains(node.a) || data_.contains(node.b));
}

std::optional<Linear> Simplifier::whole_difference(const Expr& a, const Expr& b) {
  const Linear x = linear(a), y = linear(b);
  if (!is_exact(x) || !is_exact(y)) return std::nullopt;
  return difference(x, y);
}

Expr Simplifier::compare(const Binary& node) {
  if (const std::optional<Linear> whole = whole_difference(node.a, node.b)) {
    Linear form = recombine(*whole);
    if (is_equality(node.op)) return equal_zero(form, node.op);
    if (node.op == BinaryOp::kLe) form.constant -= 1;
    if (Expr out = less_than_zero(form)) return out;
  } else if (const Linear gap = difference(linear(node.a), linear(node.b)); gap.is_constant()) {
    // Values that differ by that modulo 2^64.
    const bool same = gap.constant == 0;
    if (same || is_equality(node.op))
      return truth(same == (node.op == BinaryOp::kEq || node.op == BinaryOp::kLe));
  }
  return tensor::binary(node.op, narrow(node.a), narrow(node.b));
}

// x // c < n where x < n * c, and n < x // c where n * c + c - 1 < x: for facts on x.
std::optional<Linear> Simplifier::without_quotient(const Linear& form) {
  if (form.terms.size() != 1) return std::nullopt;
  const int64_t sign = form.terms[0].coefficient;
  const auto* node = as<Binary>(form.terms[0].atom);
  if ((sign != 1 && sign != -1) || !node || node->op != BinaryOp::kFloorDiv) return std::nullopt;
  const std::optional<int64_t> divisor = as_int(node->b);
  constexpr int64_t kMost = int64_t{1} << 31;
  if (!divisor || *divisor <= 0 || *divisor >= kMost || form.constant >= kMost || form.constant <= -kMost)
    return std::nullopt;
  Linear x = linear(node->a);
  if (!is_exact(x)) return std::nullopt;
  Linear out;
  out.add(x, sign);
  out.constant += form.constant * *divisor + (sign == 1 ? 0 : *divisor - 1);
  return out;
}

Expr Simplifier::less_than_zero(const Linear& form) {
  // In whole blocks, if it is made of such.
  const auto in_blocks = [](const Linear& whole) -> std::optional<Linear> {
    Blocks blocks;
    if (!split_blocks(whole, 0, &blocks)) return std::nullopt;
    blocks.quotient.constant += blocks.shift;
    return blocks.quotient;
  };
  if (const int known = decide_negative(form); known >= 0) return truth(known == 1);
  if (const std::optional<Linear> dividend = facts_.empty() ? std::nullopt : without_quotient(form)) {
    if (const int known = decide_negative(*dividend); known >= 0) return truth(known == 1);
    if (const std::optional<Linear> blocks = in_blocks(*dividend))
      if (const int known = decide_negative(*blocks); known >= 0) return truth(known == 1);
  }
  if (const std::optional<Linear> blocks = in_blocks(form)) {
    if (const int known = decide_negative(*blocks); known >= 0) return truth(known == 1);
    return to_less_than_zero(*blocks);
  }
  return to_less_than_zero(form);
}

Expr Simplifier::equal_zero(const Linear& form, BinaryOp op) {
  const bool is_equal = op == BinaryOp::kEq;
  if (form.is_constant()) return truth((form.constant == 0) == is_equal);
  Linear above;  // form > 0
  above.add(form, -1);
  if (decide_negative(form) == 1 || decide_negative(above) == 1) return truth(!is_equal);
  Blocks blocks;
  if (split_blocks(form, 0, &blocks) && blocks.rest.is_constant()) {
    if (blocks.rest.constant != blocks.shift * blocks.step) return truth(!is_equal);
    blocks.quotient.constant += blocks.shift;
    return to_compare_with_zero(blocks.quotient, op);
  }
  return to_compare_with_zero(form, op);
}

// a && b: b is only asked for where a holds, and may use that; a || b the other way round.
Expr Simplifier::both(const Binary& node) {
  const bool is_and = node.op == BinaryOp::kAnd;
  const Expr a = narrow(node.a);
  if (auto known = as_int(a)) return (*known != 0) == is_and ? narrow(node.b) : a;
  const Mark mark = push_facts(a, is_and);
  const Expr b = narrow(node.b);
  pop_facts(mark);
  if (tensor::structurally_equal(a, b)) return a;
  return tensor::binary(node.op, a, b);
}

Expr Simplifier::narrow_select(const ir::Select& node) {
  const Expr condition = narrow(node.condition);
  if (auto known = as_int(condition)) return narrow(*known != 0 ? node.if_true : node.if_false);
  const Expr a = narrow(node.if_true), b = narrow(node.if_false);
  if (tensor::structurally_equal(a, b)) return a;
  return tensor::select(condition, a, b);
}

Expr Simplifier::narrow_call(const ir::Call& node, const Expr& expr) {
  if (node.function == ir::Intrinsic::kDot) {  // lanes of its operands belong together
    std::vector<Expr> args;
    for (const Expr& arg : node.args) args.push_back(tensor::widened(narrow(arg), arg->type().lanes));
    return tensor::with_operands(expr, args);
  }
  const bool reduces = node.function >= ir::Intrinsic::kReduceAdd;
  std::vector<Expr> args;
  for (const Expr& arg : node.args) args.push_back(narrow(arg));
  if (!reduces) return tensor::call(node.function, std::move(args));
  // A sum over lanes rounds lane by lane, so it keeps all of them; a maximum of equal lanes is the lane.
  if (node.function != ir::Intrinsic::kReduceAdd && !args[0]->type().is_vector()) return args[0];
  args[0] = tensor::widened(args[0], node.args[0]->type().lanes);
  return args[0].same_as(node.args[0]) ? expr : tensor::call(node.function, std::move(args));
}

Expr Simplifier::narrow_load(const ir::Load& node, const Expr& expr) {
  std::vector<Expr> indices;
  bool changed = false;
  int lanes = 1;
  for (const Expr& index : node.indices) {
    indices.push_back(narrow(index));
    lanes = std::max(lanes, indices.back()->type().lanes);
    changed = changed || !tensor::structurally_equal(indices.back(), index);
  }
  Expr predicate = node.predicate ? narrow(node.predicate) : nullptr;
  if (predicate) {
    if (auto known = as_int(predicate)) {
      if (*known == 0) return tensor::imm({node.type().element, 1}, 0);
      predicate = nullptr;
    } else {
      lanes = std::max(lanes, predicate->type().lanes);
      predicate = tensor::widened(predicate, lanes);
    }
  }
  changed = changed || !tensor::structurally_equal(predicate, node.predicate);
  return changed ? tensor::load(node.buffer, std::move(indices), predicate) : expr;
}

}  // namespace tf::analysis
