#include "compiler/tensor/whole.h"

#include <algorithm>

#include "base/check.h"

namespace tf::tensor {
namespace {

// Literals, the common case by far, need no nodes.
bool literal(const Whole& a, const Whole& b) {
  return !a.is_open() && !b.is_open();
}
int64_t number(const Whole& a) {
  return static_cast<int64_t>(a);
}

}  // namespace

Whole::Whole(const Expr& expr) {
  if (const std::optional<int64_t> value = as_int(expr))
    value_ = *value;
  else
    open_ = expr;
}

Whole::operator int64_t() const {
  TF_CHECK(!open_) << "a size that is still open was used as a number";
  return value_;
}

Whole& Whole::operator*=(const Whole& other) {
  return *this = *this * other;
}

Whole operator+(const Whole& a, const Whole& b) {
  return literal(a, b) ? Whole(number(a) + number(b)) : Whole(a.expr() + b.expr());
}
Whole operator-(const Whole& a, const Whole& b) {
  return literal(a, b) ? Whole(number(a) - number(b)) : Whole(a.expr() - b.expr());
}
Whole operator*(const Whole& a, const Whole& b) {
  return literal(a, b) ? Whole(number(a) * number(b)) : Whole(a.expr() * b.expr());
}
Whole ceil_div(const Whole& a, const Whole& b) {
  return literal(a, b) ? Whole((number(a) + number(b) - 1) / number(b)) : Whole(ceil_div(a.expr(), b.expr()));
}
Whole min(const Whole& a, const Whole& b) {
  return literal(a, b) ? Whole(std::min(number(a), number(b)))
         : same(a, b)  ? a
                       : Whole(min(a.expr(), b.expr()));
}
Whole max(const Whole& a, const Whole& b) {
  return literal(a, b) ? Whole(std::max(number(a), number(b)))
         : same(a, b)  ? a
                       : Whole(max(a.expr(), b.expr()));
}

Expr less_equal(const Whole& a, const Whole& b) {
  return a.expr() <= b.expr();
}
Expr divides(const Whole& divisor, const Whole& value) {
  return equal(floor_mod(value.expr(), divisor.expr()), imm(0));
}
bool same(const Whole& a, const Whole& b) {
  return structurally_equal(a.expr(), b.expr());
}

}  // namespace tf::tensor
