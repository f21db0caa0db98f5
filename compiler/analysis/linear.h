#pragma once
// Owns: Linear, the canonical form of index arithmetic: a constant plus whole multiples of atoms. Does not
// know: how expressions become linear (simplify.h's Simplifier does that).
//
// An atom is anything that is not itself a sum: a variable, x // 4, x % 4, min(x, y), a product of two
// variables, a load. A form stands for every lane of a vector at once: atoms of vector type differ between
// lanes, scalar atoms are the same in all of them. The lane's own number is the atom ramp(0, 1, lanes), so
// that ramp(b, s, n) is b + s * lane and every rule for scalars holds for vectors too.
//
// A form is a whole number, and the value of the expression that it stands for is that number modulo 2^64. Of
// an index it is the number itself, as that must not overflow. A sum of data may wrap: with a 64-bit x of any
// value, x + 1 < y is not x - y < -1, and (x*16 + 3) // 16 is not x. So all that compares, divides or bounds
// forms asks first whether they are exact; sums, differences and multiples need no asking.

#include <vector>

#include "compiler/analysis/bounds.h"

namespace tf::analysis {

struct Term {
  Expr atom;
  int64_t coefficient = 0;
  Interval range;        // of the atom
  bool is_data = false;  // the atom

  Term times(int64_t other) const;  // the atom so many times
};

struct Linear {
  std::vector<Term> terms;  // no zero coefficients, no atom twice; in the order in which they first came
  int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
  bool is_data() const;
  // Index in terms, or -1.
  int find(const Expr& atom) const;
  int64_t coefficient_of(const Expr& atom) const;
  void add(const Term& term, int64_t scale = 1);
  void add(const Linear& other, int64_t scale = 1);
};

Linear constant_form(int64_t value);
Linear atom_form(const Expr& atom, const Interval& range, bool is_data);
Linear difference(const Linear& a, const Linear& b);
// The whole numbers that the form can be.
Interval interval_of(const Linear& form);
bool equal(const Linear& a, const Linear& b);

// Whether the form is the value of what it stands for, and whether any sum of some of its terms, or their
// quotients, would be: with data all of them are small, but for a single atom, which is its own value. The
// differences of two exact forms, and of two such differences, do not overflow the numbers in a form.
bool is_exact(const Linear& form);
// What the form stands for can have these values.
Interval values_of(const Linear& form);

// The form as an expression: scalar where no atom is a vector.
Expr to_expr(const Linear& form);

// form < 0, written with positive terms on the left. Null where a side is a sum that may wrap.
Expr to_less_than_zero(const Linear& form);
// form == 0 or form != 0.
Expr to_compare_with_zero(const Linear& form, ir::BinaryOp op);

// form = step * quotient + rest, where rest lies in [shift * step, (shift + 1) * step). The largest step that
// the coefficients (and `divisor`, unless 0) allow; nothing if there is none above 1. Of whole numbers.
struct Blocks {
  int64_t step = 0;
  Linear quotient;
  Linear rest;
  int64_t shift = 0;
};
bool split_blocks(const Linear& form, int64_t divisor, Blocks* out);

}  // namespace tf::analysis
