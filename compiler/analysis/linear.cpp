#include "compiler/analysis/linear.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "base/whole_division.h"

namespace tf::analysis {
namespace {

using ir::as;
using ir::Ramp;

// Sums of coefficients wrap like the arithmetic that they stand for: modulo 2^64 they stay what they were.
int64_t wrap_multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Adds coefficient * atom to a sum that may still be empty.
void append(Expr* sum, const Expr& atom, int64_t coefficient) {
  if (!*sum) {
    *sum = atom * coefficient;
  } else if (coefficient < 0 && coefficient != std::numeric_limits<int64_t>::min()) {
    *sum = *sum - atom * -coefficient;
  } else {
    *sum = *sum + atom * coefficient;
  }
}

// Terms in order, but starting with a positive one where there is one.
Expr sum_of(const std::vector<const Term*>& terms, int64_t constant) {
  Expr sum;
  size_t first = terms.size();
  for (size_t i = 0; i < terms.size() && first == terms.size(); ++i)
    if (terms[i]->coefficient > 0) first = i;
  if (first < terms.size()) {
    append(&sum, terms[first]->atom, terms[first]->coefficient);
  } else if (constant != 0) {
    sum = tensor::imm(constant);
    constant = 0;
  }
  for (size_t i = 0; i < terms.size(); ++i)
    if (i != first) append(&sum, terms[i]->atom, terms[i]->coefficient);
  if (!sum) return tensor::imm(constant);
  if (constant == 0) return sum;
  return constant < 0 && constant != std::numeric_limits<int64_t>::min() ? sum - -constant : sum + constant;
}

// The positive and the negated negative part of a form.
struct Sides {
  Linear left, right;
};

Sides split_signs(const Linear& form) {
  Sides sides;
  for (const Term& term : form.terms) {
    if (term.coefficient > 0)
      sides.left.terms.push_back(term);
    else
      sides.right.add(term, -1);
  }
  const bool to_left = sides.left.terms.empty() || (!sides.right.terms.empty() && form.constant > 0);
  if (to_left)
    sides.left.constant = form.constant;
  else
    sides.right.constant = wrap_multiply(form.constant, -1);
  return sides;
}

constexpr int64_t kLargestCoefficient = int64_t{1} << 61;  // keeps gcd and negation far from overflow
constexpr double kLargestExact = 0x1p60;

double magnitude(int64_t value) {
  return std::fabs(static_cast<double>(value));
}

}  // namespace

Term Term::times(int64_t other) const {
  Term out = *this;
  out.coefficient = other;
  return out;
}

bool Linear::is_data() const {
  return std::ranges::any_of(terms, [](const Term& term) { return term.is_data; });
}

int Linear::find(const Expr& atom) const {
  for (size_t i = 0; i < terms.size(); ++i)
    if (tensor::structurally_equal(terms[i].atom, atom)) return static_cast<int>(i);
  return -1;
}

int64_t Linear::coefficient_of(const Expr& atom) const {
  const int i = find(atom);
  return i < 0 ? 0 : terms[static_cast<size_t>(i)].coefficient;
}

void Linear::add(const Term& term, int64_t scale) {
  const int64_t amount = wrap_multiply(term.coefficient, scale);
  if (amount == 0) return;
  if (const int i = find(term.atom); i >= 0) {
    Term& mine = terms[static_cast<size_t>(i)];
    mine.coefficient = wrap_add(mine.coefficient, amount);
    if (mine.coefficient == 0) terms.erase(terms.begin() + i);
  } else {
    terms.push_back(term.times(amount));
  }
}

void Linear::add(const Linear& other, int64_t scale) {
  for (const Term& term : other.terms) add(term, scale);
  constant = wrap_add(constant, wrap_multiply(other.constant, scale));
}

Linear constant_form(int64_t value) {
  Linear form;
  form.constant = value;
  return form;
}

Linear atom_form(const Expr& atom, const Interval& range, bool is_data) {
  if (range.is_point()) return constant_form(range.min);
  Linear form;
  form.terms.push_back({atom, 1, range, is_data});
  return form;
}

Linear difference(const Linear& a, const Linear& b) {
  Linear out = a;
  out.add(b, -1);
  return out;
}

Interval interval_of(const Linear& form) {
  Interval sum = Interval::point(form.constant);
  for (const Term& term : form.terms) sum = sum + term.range * term.coefficient;
  return sum;
}

bool is_exact(const Linear& form) {
  if (form.terms.size() == 1 && form.constant == 0 && form.terms[0].coefficient == 1) return true;
  const bool data = form.is_data();
  double sum = magnitude(form.constant);
  for (const Term& term : form.terms) {
    const double size = magnitude(term.coefficient);
    // An unknown end counts as the farthest one.
    const double reach = std::max(magnitude(term.range.min), magnitude(term.range.max));
    sum = data ? sum + size * reach : std::max(sum, size);
  }
  return sum <= kLargestExact;
}

Interval values_of(const Linear& form) {
  return form.is_constant() || is_exact(form) ? interval_of(form) : Interval::everything();
}

bool equal(const Linear& a, const Linear& b) {
  if (a.constant != b.constant || a.terms.size() != b.terms.size()) return false;
  for (const Term& term : a.terms)
    if (b.coefficient_of(term.atom) != term.coefficient) return false;
  return true;
}

Expr to_expr(const Linear& form) {
  std::vector<const Term*> scalars, vectors;
  Expr stride;
  int lanes = 1;
  for (const Term& term : form.terms) {
    if (!term.atom->type().is_vector()) {
      scalars.push_back(&term);
      continue;
    }
    lanes = term.atom->type().lanes;
    const auto* ramp = as<Ramp>(term.atom);
    if (ramp && as_int(ramp->base) == 0)
      append(&stride, ramp->stride, term.coefficient);
    else
      vectors.push_back(&term);
  }
  Expr out = sum_of(scalars, form.constant);
  if (stride) out = tensor::ramp(out, stride, lanes);
  if (vectors.empty()) return out;
  if (as_int(out) == 0) return sum_of(vectors, 0);
  for (const Term* term : vectors) append(&out, term->atom, term->coefficient);
  return out;
}

Expr to_less_than_zero(const Linear& form) {
  const Sides sides = split_signs(form);
  if (!is_exact(sides.left) || !is_exact(sides.right)) return nullptr;
  return to_expr(sides.left) < to_expr(sides.right);
}

Expr to_compare_with_zero(const Linear& form, ir::BinaryOp op) {
  const Sides sides = split_signs(form);
  const Expr left = to_expr(sides.left), right = to_expr(sides.right);
  return op == ir::BinaryOp::kEq ? tensor::equal(left, right) : tensor::not_equal(left, right);
}

bool split_blocks(const Linear& form, int64_t divisor, Blocks* out) {
  std::vector<int64_t> sizes;
  for (const Term& term : form.terms) {
    if (term.coefficient > kLargestCoefficient || term.coefficient < -kLargestCoefficient) return false;
    sizes.push_back(std::abs(term.coefficient));
  }
  std::sort(sizes.rbegin(), sizes.rend());
  int64_t step = divisor;
  int64_t tried = 0;
  for (int64_t size : sizes) {
    step = std::gcd(step, size);
    if (step <= 1) return false;
    if (step == tried) continue;
    tried = step;
    Linear rest = constant_form(form.constant);
    for (const Term& term : form.terms)
      if (term.coefficient % step != 0) rest.terms.push_back(term);
    const Interval range = interval_of(rest);
    if (!range.is_bounded()) continue;
    const int64_t shift = floor_quotient(range.min, step);
    if (floor_quotient(range.max, step) != shift) continue;
    out->step = step;
    out->shift = shift;
    out->rest = std::move(rest);
    out->quotient = {};
    for (const Term& term : form.terms)
      if (term.coefficient % step == 0) out->quotient.terms.push_back(term.times(term.coefficient / step));
    return true;
  }
  return false;
}

}  // namespace tf::analysis
