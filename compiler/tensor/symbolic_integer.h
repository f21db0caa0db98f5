#pragma once
// Owns: SymInt, a symbolic integer: a whole number that may depend on sizes which are still open. Does not
// know: schedules, loops.

#include <concepts>
#include <cstdint>

#include "compiler/tensor/expr.h"

namespace tf::tensor {

// A literal, or an expression over the variables of open sizes. Arithmetic folds, so that where nothing is
// open every SymInt is a literal, and converts to it; converting an open one is our bug.
class SymInt {
 public:
  SymInt(int64_t value = 0) : value_(value) {}  // NOLINT(google-explicit-constructor): a literal is a number.
  explicit SymInt(const Expr& expr);            // an index
  operator int64_t() const;                     // NOLINT(google-explicit-constructor): see above.
  bool is_open() const { return static_cast<bool>(open_); }
  Expr expr() const { return open_ ? open_ : imm(value_); }

  SymInt& operator*=(const SymInt& other);

 private:
  int64_t value_ = 0;
  Expr open_;  // null: a literal
};

SymInt operator+(const SymInt& a, const SymInt& b);
SymInt operator-(const SymInt& a, const SymInt& b);
SymInt operator*(const SymInt& a, const SymInt& b);
SymInt ceil_div(const SymInt& a, const SymInt& b);
SymInt min(const SymInt& a, const SymInt& b);
SymInt max(const SymInt& a, const SymInt& b);

// With plain numbers, which would convert either way.
template <std::integral N>
SymInt operator+(const SymInt& a, N b) {
  return a + SymInt(b);
}
template <std::integral N>
SymInt operator-(const SymInt& a, N b) {
  return a - SymInt(b);
}
template <std::integral N>
SymInt operator*(const SymInt& a, N b) {
  return a * SymInt(b);
}
template <std::integral N>
SymInt operator+(N a, const SymInt& b) {
  return SymInt(a) + b;
}
template <std::integral N>
SymInt operator*(N a, const SymInt& b) {
  return SymInt(a) * b;
}

// Conditions: a constant where nothing is open.
Expr less_equal(const SymInt& a, const SymInt& b);
Expr divides(const SymInt& divisor, const SymInt& value);
// Whether both are the same literal or the same expression.
bool same(const SymInt& a, const SymInt& b);

}  // namespace tf::tensor
