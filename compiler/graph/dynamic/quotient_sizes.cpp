#include "compiler/graph/dynamic/quotient_sizes.h"

#include "compiler/graph/dynamic/program_numbers.h"

namespace tf::graph {
std::set<int64_t> sizes_where_quotients_change(const Program& program, const NamedDimension& dim) {
  std::set<std::pair<int64_t, int64_t>>
      quotients;  // the divisor and the rest of the sizes at which it changes
  for_each_number(program, [&](const tensor::Expr& number) {
    tensor::for_each(number, [&](const tensor::Expr& e) {
      const auto* quotient = tensor::as<tensor::Binary>(e);
      if (!quotient || quotient->op != tensor::BinaryOp::kFloorDiv) return true;
      const int64_t divisor = *tensor::as_int(quotient->b);
      const tensor::Expr shift = tensor::substitute(quotient->a, {{dim.var.get(), tensor::imm(0)}});
      if (const auto number_of_shift = tensor::as_int(shift); number_of_shift && divisor > 1)
        quotients.insert({divisor, (divisor - *number_of_shift % divisor) % divisor});
      return true;
    });
  });
  std::set<int64_t> sizes;
  for (const int64_t from : {dim.low + 1, dim.low + (dim.high - dim.low) / 2}) {
    for (const auto& [divisor, rest] : quotients) {
      const int64_t first = from + ((rest - from) % divisor + divisor) % divisor;
      for (const int64_t size : {first - 1, first})
        if (dim.low <= size && size <= dim.high && size % dim.multiple_of == 0) sizes.insert(size);
    }
  }
  return sizes;
}

}  // namespace tf::graph
