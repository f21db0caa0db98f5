#include "compiler/ops/reshape_index.h"

#include <algorithm>

namespace tf::ops {
namespace {

// A product of a constant and of factors that are not constants.
struct Product {
  int64_t constant = 1;
  std::vector<Expr> factors;

  void multiply(const Expr& extent) {
    const auto* binary = tensor::as<tensor::Binary>(extent);
    if (auto value = tensor::as_int(extent)) {
      constant *= *value;
    } else if (binary && binary->op == tensor::BinaryOp::kMul) {
      multiply(binary->a);
      multiply(binary->b);
    } else {
      factors.push_back(extent);
    }
  }
};

bool equal_products(const Product& a, const Product& b) {
  return a.constant == b.constant &&
         std::is_permutation(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(),
                             tensor::structurally_equal);
}

Product product_of(const std::vector<Expr>& extents, std::span<const size_t> axes) {
  Product product;
  for (size_t axis : axes) product.multiply(extents[axis]);
  return product;
}

// The axes whose extent is not 1: others take no part.
std::vector<size_t> wide_axes(const std::vector<Expr>& extents) {
  std::vector<size_t> axes;
  for (size_t d = 0; d < extents.size(); ++d)
    if (tensor::as_int(extents[d]) != 1) axes.push_back(d);
  return axes;
}

struct Run {
  size_t from, to;  // how many axes of each side
};

// The smallest run that starts both lists; all that is left if no shorter one has equal products.
Run next_run(const std::vector<Expr>& from, std::span<const size_t> from_axes, const std::vector<Expr>& to,
             std::span<const size_t> to_axes) {
  for (size_t total = 2; total < from_axes.size() + to_axes.size(); ++total)
    for (size_t n = 1; n < total && n <= from_axes.size(); ++n)
      if (total - n <= to_axes.size() &&
          equal_products(product_of(from, from_axes.first(n)), product_of(to, to_axes.first(total - n))))
        return {n, total - n};
  return {from_axes.size(), to_axes.size()};
}

}  // namespace

bool same_element_count(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  const Product x = product_of(a, wide_axes(a)), y = product_of(b, wide_axes(b));
  return equal_products(x, y) || (x.constant == 0 && y.constant == 0);
}

std::vector<Expr> reshape_indices(const std::vector<Expr>& from, const std::vector<Expr>& to,
                                  Indices indices) {
  std::vector<Expr> source(from.size(), tensor::imm(int64_t{0}));
  const std::vector<size_t> from_all = wide_axes(from), to_all = wide_axes(to);
  if (product_of(from, from_all).constant == 0) return source;  // there is no place to ask for
  std::span<const size_t> from_axes = from_all, to_axes = to_all;
  while (!from_axes.empty()) {
    const Run run = next_run(from, from_axes, to, to_axes);
    const auto mine = from_axes.first(run.from), theirs = to_axes.first(run.to);
    Expr flat = tensor::imm(int64_t{0});
    for (size_t axis : theirs) flat = flat * to[axis] + indices[axis];
    Expr stride = tensor::imm(1);
    for (size_t k = mine.size(); k-- > 0;) {
      const Expr quotient = floor_div(flat, stride);
      // The outermost axis of a run needs no modulus: the flat index is in range.
      source[mine[k]] = k == 0 ? quotient : floor_mod(quotient, from[mine[k]]);
      stride = stride * from[mine[k]];
    }
    from_axes = from_axes.subspan(run.from);
    to_axes = to_axes.subspan(run.to);
  }
  return source;
}

}  // namespace tf::ops
