#include "compiler/passes/math/integer_power.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace tf::passes {

ir::Expr integer_power(const ir::Expr& x, const ir::Expr& y, const Bind& bind) {
  using tensor::floor_div;
  using tensor::floor_mod;
  using tensor::select;
  const auto number = [&](int64_t value) { return tensor::cast(x->type(), tensor::imm(value)); };
  const ir::Expr one = number(1), zero = number(0);
  const std::optional<int64_t> known = tensor::as_int(y);
  const int bits = known ? std::bit_width(static_cast<uint64_t>(std::max<int64_t>(*known, 0))) : 63;
  ir::Expr result = one, square = x;
  for (int bit = 0; bit < bits; ++bit) {
    if (bit > 0) square = bind(square * square);
    const bool first = bit == 0;
    const ir::Expr product = first ? square : result * square;
    if (known) {
      if ((*known >> bit & 1) != 0) result = bind(product);
      continue;
    }
    const ir::Expr is_set = not_equal(floor_mod(floor_div(y, number(int64_t{1} << bit)), number(2)), zero);
    result = bind(select(is_set, product, result));
  }
  if (known && *known >= 0) return result;
  const ir::Expr minus_one = number(-1);
  const ir::Expr odd = not_equal(floor_mod(y, number(2)), zero);
  const ir::Expr reciprocal =
      select(equal(x, one), one, select(equal(x, minus_one), select(odd, minus_one, one), zero));
  return select(y < zero, reciprocal, result);
}

}  // namespace tf::passes
