#include "compiler/tensor/symbolic_integer.h"

#include <algorithm>

#include "base/check.h"

namespace tf::tensor {
namespace {

// Literals, the common case by far, need no nodes.
bool literal(const SymInt& a, const SymInt& b) {
  return !a.is_open() && !b.is_open();
}
int64_t number(const SymInt& a) {
  return static_cast<int64_t>(a);
}

}  // namespace

SymInt::SymInt(const Expr& expr) {
  if (const std::optional<int64_t> value = as_int(expr))
    value_ = *value;
  else
    open_ = expr;
}

SymInt::operator int64_t() const {
  TF_CHECK(!open_) << "a size that is still open was used as a number";
  return value_;
}

SymInt& SymInt::operator*=(const SymInt& other) {
  return *this = *this * other;
}

SymInt operator+(const SymInt& a, const SymInt& b) {
  return literal(a, b) ? SymInt(number(a) + number(b)) : SymInt(a.expr() + b.expr());
}
SymInt operator-(const SymInt& a, const SymInt& b) {
  return literal(a, b) ? SymInt(number(a) - number(b)) : SymInt(a.expr() - b.expr());
}
SymInt operator*(const SymInt& a, const SymInt& b) {
  return literal(a, b) ? SymInt(number(a) * number(b)) : SymInt(a.expr() * b.expr());
}
SymInt ceil_div(const SymInt& a, const SymInt& b) {
  return literal(a, b) ? SymInt((number(a) + number(b) - 1) / number(b))
                       : SymInt(ceil_div(a.expr(), b.expr()));
}
SymInt min(const SymInt& a, const SymInt& b) {
  return literal(a, b) ? SymInt(std::min(number(a), number(b)))
         : same(a, b)  ? a
                       : SymInt(min(a.expr(), b.expr()));
}
SymInt max(const SymInt& a, const SymInt& b) {
  return literal(a, b) ? SymInt(std::max(number(a), number(b)))
         : same(a, b)  ? a
                       : SymInt(max(a.expr(), b.expr()));
}

Expr less_equal(const SymInt& a, const SymInt& b) {
  return a.expr() <= b.expr();
}
Expr divides(const SymInt& divisor, const SymInt& value) {
  return equal(floor_mod(value.expr(), divisor.expr()), imm(0));
}
bool same(const SymInt& a, const SymInt& b) {
  return structurally_equal(a.expr(), b.expr());
}

}  // namespace tf::tensor
