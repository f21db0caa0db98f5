#pragma once
// Owns: Whole, a whole number that may depend on sizes which are still open. Does not know: schedules, loops.

#include <concepts>
#include <cstdint>

#include "compiler/tensor/expr.h"

namespace tf::tensor {

// A literal, or an expression over the variables of open sizes. Arithmetic folds, so that where nothing is
// open every Whole is a literal, and converts to it; converting an open one is our bug.
class Whole {
 public:
  Whole(int64_t value = 0) : value_(value) {}  // NOLINT(google-explicit-constructor): a literal is a number.
  explicit Whole(const Expr& expr);            // an index
  operator int64_t() const;                    // NOLINT(google-explicit-constructor): see above.
  bool is_open() const { return static_cast<bool>(open_); }
  Expr expr() const { return open_ ? open_ : imm(value_); }

  Whole& operator*=(const Whole& other);

 private:
  int64_t value_ = 0;
  Expr open_;  // null: a literal
};

Whole operator+(const Whole& a, const Whole& b);
Whole operator-(const Whole& a, const Whole& b);
Whole operator*(const Whole& a, const Whole& b);
Whole ceil_div(const Whole& a, const Whole& b);
Whole min(const Whole& a, const Whole& b);
Whole max(const Whole& a, const Whole& b);

// With plain numbers, which would convert either way.
template <std::integral N>
Whole operator+(const Whole& a, N b) {
  return a + Whole(b);
}
template <std::integral N>
Whole operator-(const Whole& a, N b) {
  return a - Whole(b);
}
template <std::integral N>
Whole operator*(const Whole& a, N b) {
  return a * Whole(b);
}
template <std::integral N>
Whole operator+(N a, const Whole& b) {
  return Whole(a) + b;
}
template <std::integral N>
Whole operator*(N a, const Whole& b) {
  return Whole(a) * b;
}

// Conditions: a constant where nothing is open.
Expr less_equal(const Whole& a, const Whole& b);
Expr divides(const Whole& divisor, const Whole& value);
// Whether both are the same literal or the same expression.
bool same(const Whole& a, const Whole& b);

}  // namespace tf::tensor
