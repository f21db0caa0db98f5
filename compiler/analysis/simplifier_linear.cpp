// The integer half of the Simplifier: from expressions to linear forms, and division by constants.
#include <algorithm>
#include <utility>

#include "base/whole_division.h"
#include "compiler/analysis/simplifier.h"
#include "compiler/tensor/rebuild.h"

namespace tf::analysis {
namespace {

using ir::as;
using ir::Binary;
using ir::BinaryOp;
using ir::Ramp;
using tensor::ExprKind;

constexpr int64_t kLargestDivisor = int64_t{1} << 31;

// The node if it divides (op) by a positive constant.
const Binary* division(const Expr& atom, BinaryOp op, int64_t* divisor) {
  const auto* node = as<Binary>(atom);
  if (!node || node->op != op) return nullptr;
  const auto value = as_int(node->b);
  if (!value || *value <= 0) return nullptr;
  *divisor = *value;
  return node;
}

// The single atom of a form that is exactly 1 * atom + constant.
const Term* single_atom(const Linear& form) {
  return form.terms.size() == 1 && form.terms[0].coefficient == 1 ? &form.terms[0] : nullptr;
}

// Moves the multiples of `divisor` into `quotient`; what stays has its constant in [0, divisor).
void take_multiples(Linear* form, int64_t divisor, Linear* quotient) {
  std::vector<Term> rest;
  for (const Term& term : form->terms) {
    if (term.coefficient % divisor == 0)
      quotient->terms.push_back(term.times(term.coefficient / divisor));
    else
      rest.push_back(term);
  }
  form->terms = std::move(rest);
  quotient->constant = floor_quotient(form->constant, divisor);
  form->constant = floor_remainder(form->constant, divisor);
}

// What wraps where it is data and may overflow.
Interval wrapped(const Interval& value, bool is_data) {
  return is_data && !value.is_bounded() ? Interval::everything() : value;
}

bool contains_multiple(const Linear& form, const Linear& part, int64_t scale) {
  if (part.terms.empty()) return false;
  for (const Term& term : part.terms)
    if (form.coefficient_of(term.atom) != term.coefficient * scale) return false;
  return true;
}

}  // namespace

Linear Simplifier::linear(const Expr& expr) {
  switch (expr->kind()) {
    case ExprKind::kIntImm:
      return constant_form(as<ir::IntImm>(expr)->value);
    case ExprKind::kBroadcast:
      return linear(as<ir::Broadcast>(expr)->value);
    case ExprKind::kVarNode: {
      const auto* var = as<VarNode>(expr);
      if (auto found = values_.find(var); found != values_.end()) {
        const Expr value = found->second;
        return linear(value);
      }
      return atom_form(expr, range_of(var), data_.contains(var));
    }
    default:
      break;
  }
  if (auto found = linear_memo_.find(expr.get()); found != linear_memo_.end()) return found->second;
  Linear form = linear_uncached(expr);
  remember(expr, form);
  return form;
}

bool Simplifier::in_one_block(const Linear& form, int64_t divisor, int64_t* block) const {
  const Interval range = interval_of(form);
  if (!range.is_bounded()) return false;
  *block = floor_quotient(range.min, divisor);
  if (floor_quotient(range.max, divisor) == *block) return true;
  Linear beyond = form;  // the block's end
  beyond.constant -= (*block + 1) * divisor;
  return !facts_.empty() && decide_negative(beyond) == 1;
}

void Simplifier::remember(const Expr& expr, const Linear& form) {
  if (linear_memo_.emplace(expr.get(), form).second) keep_.push_back(expr);
}

Linear Simplifier::atom(const Expr& atom, const Interval& range, bool is_data) {
  if (auto value = as_int(atom)) return constant_form(*value);
  Linear form = atom_form(atom, range, is_data);
  remember(atom, form);
  return form;
}

Expr Simplifier::expr_of(const Linear& form) {
  const Expr expr = to_expr(form);
  if (expr->kind() == ExprKind::kBinary) remember(expr, form);
  return expr;
}

Linear Simplifier::linear_uncached(const Expr& expr) {
  switch (expr->kind()) {
    case ExprKind::kBinary:
      return linear_binary(*as<Binary>(expr), expr);
    case ExprKind::kRamp:
      return linear_ramp(*as<Ramp>(expr));
    case ExprKind::kUnary: {
      const auto* node = as<ir::Unary>(expr);
      const Linear a = linear(node->a);
      const Interval range = values_of(a);
      Linear negated;
      negated.add(a, -1);
      if (node->op == ir::UnaryOp::kNeg || (range.has_max() && range.max <= 0)) return negated;
      if (node->op == ir::UnaryOp::kAbs && range.has_min() && range.min >= 0) return a;
      return leaf(tensor::abs(expr_of(a)));
    }
    case ExprKind::kSelect: {
      const auto* node = as<ir::Select>(expr);
      const Expr condition = narrow(node->condition);
      if (auto known = as_int(condition)) return linear(*known != 0 ? node->if_true : node->if_false);
      Linear a = linear(node->if_true), b = linear(node->if_false);
      if (equal(a, b)) return a;
      return atom(tensor::select(condition, expr_of(a), expr_of(b)), join(values_of(a), values_of(b)),
                  a.is_data() || b.is_data() || data_.contains(condition));
    }
    case ExprKind::kCast: {
      const Expr& from = as<ir::Cast>(expr)->a;
      if (is_index(from)) return linear(from);
      const Expr value = narrow(from);
      return leaf(tensor::cast({ir::Element::kInt64, value->type().lanes}, value));
    }
    default:
      return leaf(narrow_uncached(expr));
  }
}

Linear Simplifier::leaf(const Expr& expr) {
  // Operands' own ranges are taken from the map alone: leaves are loads, calls and casts.
  return atom(expr, analysis::interval_of(expr, ranges_, data_), data_.contains(expr));
}

Linear Simplifier::linear_ramp(const Ramp& node) {
  Linear form = linear(node.base);
  const Linear stride = linear(node.stride);
  const int lanes = node.type().lanes;
  const Interval steps{0, lanes - 1};
  auto lane_times = [&](const Expr& step) { return tensor::ramp(tensor::imm(0), step, lanes); };
  if (stride.constant != 0) form.add({lane_times(tensor::imm(1)), stride.constant, steps});
  for (const Term& term : stride.terms)
    form.add(
        {lane_times(term.atom), term.coefficient, wrapped(term.range * steps, term.is_data), term.is_data});
  return form;
}

Linear Simplifier::linear_binary(const Binary& node, const Expr& expr) {
  if (node.op == BinaryOp::kAdd || node.op == BinaryOp::kSub) {
    Linear a = linear(node.a);
    a.add(linear(node.b), node.op == BinaryOp::kAdd ? 1 : -1);
    return recombine(std::move(a));
  }
  const Linear a = linear(node.a);
  Linear b = linear(node.b);
  const bool has_load = !b.is_constant() && (a.is_data() || b.is_data());
  if (!has_load && values_of(b).contains(0) && divides_data(node)) b = zero_as_one(b);
  switch (node.op) {
    case BinaryOp::kMul:
      return product(a, b);
    case BinaryOp::kFloorDiv:
      if (b.is_constant() && b.constant > 0) return divide(a, b.constant);
      return divide_opaque(node.op, a, b);
    case BinaryOp::kFloorMod:
      if (b.is_constant() && b.constant > 0) return modulo(a, b.constant);
      return divide_opaque(node.op, a, b);
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return minmax(node.op, a, b);
    default:
      return leaf(expr);  // no other operation gives an index
  }
}

// What is left has no load that tells that a divisor of zero is legal.
Linear Simplifier::zero_as_one(const Linear& divisor) {
  const Expr b = expr_of(divisor);
  return atom(tensor::select(tensor::equal(b, tensor::imm(0)), tensor::imm(1), b),
              join(values_of(divisor), Interval::point(1)), false);
}

Linear Simplifier::product(const Linear& a, const Linear& b) {
  Linear out;
  if (a.is_constant()) {
    out.add(b, a.constant);
    return recombine(std::move(out));
  }
  if (b.is_constant()) return product(b, a);
  // A constant factor of a single term moves out, so that 2*x*y and x*2*y are one form.
  Linear x = a, y = b;
  int64_t factor = 1;
  for (Linear* side : {&x, &y}) {
    if (side->terms.size() != 1 || side->constant != 0 || side->terms[0].coefficient >= kLargestDivisor ||
        side->terms[0].coefficient <= -kLargestDivisor)
      continue;
    factor *= side->terms[0].coefficient;
    side->terms[0].coefficient = 1;
  }
  Expr p = expr_of(x), q = expr_of(y);
  if (as<VarNode>(p) && as<VarNode>(q) && as<VarNode>(q)->name < as<VarNode>(p)->name) std::swap(p, q);
  const bool is_data = x.is_data() || y.is_data();
  out.add(atom(p * q, wrapped(values_of(x) * values_of(y), is_data), is_data), factor);
  return out;
}

Linear Simplifier::divide_opaque(BinaryOp op, const Linear& a, const Linear& b) {
  const bool divides = op == BinaryOp::kFloorDiv;
  const Interval dividend = values_of(a), divisor = values_of(b);
  if (divisor.has_min() && divisor.min > 0) {
    if (equal(a, b)) return constant_form(divides ? 1 : 0);
    const bool exact = is_exact(a) && is_exact(b);
    if (exact && dividend.has_min() && dividend.min >= 0 && decide_negative(difference(a, b)) == 1)
      return divides ? constant_form(0) : a;
  }
  if (a.is_constant() && b.is_constant() && b.constant == 0)  // our bug, left for whoever runs it to report
    return atom_form(tensor::make<Binary>(op, tensor::imm(a.constant), tensor::imm(0)), {}, false);
  const Interval range = divides ? floor_div(dividend, divisor) : floor_mod(dividend, divisor);
  return atom(tensor::binary(op, expr_of(a), expr_of(b)), range, a.is_data() || b.is_data());
}

Linear Simplifier::minmax(BinaryOp op, const Linear& a, const Linear& b) {
  const bool is_min = op == BinaryOp::kMin;
  if (equal(a, b)) return is_min ? b : a;
  if (is_exact(a) && is_exact(b)) {
    const Linear less = difference(a, b);
    if (decide_negative(less) == 1) return is_min ? a : b;
    if (decide_negative(difference(b, a)) == 1) return is_min ? b : a;
    const Interval gap = interval_of(less);
    if (gap.has_max() && gap.max <= 0) return is_min ? a : b;
    if (gap.has_min() && gap.min >= 0) return is_min ? b : a;
  }
  // min(min(x, y), y) is min(x, y); min(min(x, 5), 3) is min(x, 3).
  for (const auto& [outer, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const Term* single = outer->constant == 0 ? single_atom(*outer) : nullptr;
    const auto* inner = single ? as<Binary>(single->atom) : nullptr;
    if (!inner || inner->op != op) continue;
    const Linear x = linear(inner->a), y = linear(inner->b);
    if (equal(x, *other) || equal(y, *other)) return *outer;
    if (y.is_constant() && other->is_constant())
      return minmax(op, x,
                    constant_form(is_min ? std::min(y.constant, other->constant)
                                         : std::max(y.constant, other->constant)));
  }
  // Constants stand second.
  const Expr x = expr_of(a.is_constant() ? b : a), y = expr_of(a.is_constant() ? a : b);
  const Interval range = is_min ? min(values_of(a), values_of(b)) : max(values_of(a), values_of(b));
  return atom(tensor::binary(op, x, y), range, a.is_data() || b.is_data());
}

Linear Simplifier::divide(const Linear& form, int64_t divisor) {
  if (!is_exact(form))
    return atom(tensor::floor_div(expr_of(form), divisor),
                floor_div(values_of(form), Interval::point(divisor)), form.is_data());
  Linear rest = form, out;
  take_multiples(&rest, divisor, &out);
  int64_t block = 0;
  if (in_one_block(rest, divisor, &block)) {
    out.constant += block;
    return out;
  }
  Blocks blocks;
  if (split_blocks(rest, divisor, &blocks)) {
    blocks.quotient.constant += blocks.shift;
    out.add(divide(blocks.quotient, divisor / blocks.step));
    return out;
  }
  if (const Term* single = single_atom(rest)) {
    int64_t inner = 0;
    if (const Binary* node = division(single->atom, BinaryOp::kFloorDiv, &inner);
        node && inner < kLargestDivisor && divisor < kLargestDivisor) {
      Linear x = linear(node->a);
      const bool moves = rest.constant != 0;
      if (moves && is_exact(x)) x.constant += rest.constant * inner;
      if (!moves || is_exact(x)) {
        out.add(divide(x, inner * divisor));
        return recombine(std::move(out));
      }
    }
    if (const Binary* node = division(single->atom, BinaryOp::kFloorMod, &inner);
        node && rest.constant == 0 && inner % divisor == 0) {
      out.add(modulo(divide(linear(node->a), divisor), inner / divisor));
      return recombine(std::move(out));
    }
  }
  const Interval range = floor_div(interval_of(rest), Interval::point(divisor));
  out.add(atom(tensor::floor_div(expr_of(rest), divisor), range, rest.is_data()));
  return recombine(std::move(out));
}

Linear Simplifier::modulo(const Linear& form, int64_t divisor) {
  if (!is_exact(form))
    return atom(tensor::floor_mod(expr_of(form), divisor),
                floor_mod(values_of(form), Interval::point(divisor)), form.is_data());
  Linear rest = form, multiples;
  // x % 16 and x are the same modulo 4.
  for (size_t i = 0; i < rest.terms.size(); ++i) {
    int64_t inner = 0;
    const Term term = rest.terms[i];
    const Binary* node = division(term.atom, BinaryOp::kFloorMod, &inner);
    if (!node || inner >= kLargestDivisor || term.coefficient >= kLargestDivisor ||
        term.coefficient <= -kLargestDivisor || (inner * term.coefficient) % divisor != 0)
      continue;
    const Linear x = linear(node->a);
    Linear without = rest;
    without.add(term, -1);
    without.add(x, term.coefficient);
    if (!is_exact(x) || !is_exact(without)) continue;
    rest = std::move(without);
    i = static_cast<size_t>(-1);
  }
  take_multiples(&rest, divisor, &multiples);
  int64_t block = 0;
  if (in_one_block(rest, divisor, &block)) {
    rest.constant -= block * divisor;
    return recombine(std::move(rest));
  }
  if (const Term* single = single_atom(rest); single && rest.constant == 0 && !facts_.empty()) {
    int64_t inner = 0;  // facts may be of what is divided
    const Binary* node = division(single->atom, BinaryOp::kFloorDiv, &inner);
    if (node && inner < kLargestDivisor && divisor < kLargestDivisor)
      if (const Linear blocks = divide(linear(node->a), inner * divisor); blocks.is_constant()) {
        rest.constant -= blocks.constant * divisor;
        return recombine(std::move(rest));
      }
  }
  Blocks blocks;
  if (split_blocks(rest, divisor, &blocks)) {
    blocks.quotient.constant += blocks.shift;
    Linear out;
    out.add(modulo(blocks.quotient, divisor / blocks.step), blocks.step);
    out.add(blocks.rest);
    out.constant -= blocks.shift * blocks.step;
    return recombine(std::move(out));
  }
  const Interval range = floor_mod(interval_of(rest), Interval::point(divisor));
  return atom(tensor::floor_mod(expr_of(rest), divisor), range, rest.is_data());
}

Linear Simplifier::recombine(Linear form) {
  // Each step removes a quotient or a remainder; the limit is only against surprises.
  for (int i = 0; i < 8 && recombine_once(&form); ++i) {
  }
  return form;
}

bool Simplifier::recombine_once(Linear* form) {
  for (size_t i = 0; i < form->terms.size(); ++i)
    if (join_modulo(form, i) || join_quotient(form, i)) return true;
  return false;
}

// k * (y % c) + k * c * (y // c) is k * y, in whatever form y // c has.
bool Simplifier::join_modulo(Linear* form, size_t i) {
  if (form->terms.size() < 2) return false;
  const Term term = form->terms[i];
  int64_t divisor = 0;
  const Binary* node = division(term.atom, BinaryOp::kFloorMod, &divisor);
  if (!node || divisor >= kLargestDivisor || term.coefficient >= kLargestDivisor ||
      term.coefficient <= -kLargestDivisor)
    return false;
  const Linear y = linear(node->a);
  if (!is_exact(y)) return false;
  const Linear quotient = divide(y, divisor);
  if (!contains_multiple(*form, quotient, term.coefficient * divisor)) return false;
  form->add(quotient, -term.coefficient * divisor);
  form->add(term, -1);
  form->add(y, term.coefficient);
  return true;
}

// k * y - k * c * (y // c) is k * (y % c).
bool Simplifier::join_quotient(Linear* form, size_t i) {
  if (form->terms.size() < 2) return false;
  const Term term = form->terms[i];
  int64_t divisor = 0;
  const Binary* node = division(term.atom, BinaryOp::kFloorDiv, &divisor);
  if (!node || term.coefficient % divisor != 0) return false;
  const Linear y = linear(node->a);
  if (!is_exact(y)) return false;
  const int64_t scale = -(term.coefficient / divisor);
  if (!contains_multiple(*form, y, scale)) return false;
  form->add(term, -1);
  form->add(y, -scale);
  form->add(modulo(y, divisor), scale);
  return true;
}

}  // namespace tf::analysis
