#include "compiler/ops/matmul.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "compiler/ops/elementwise.h"

namespace tf::ops {
namespace {

// The operand's batch axes alone, for broadcasting.
Buffer batch_of(const Buffer& x) {
  return tensor::buffer(x->name, x->element, {x->extents.begin(), x->extents.end() - 2});
}

// x at a batch place and a row and column of the product's view of it.
Expr element_at(const Buffer& x, Indices batch, Expr row, Expr column, bool transposed) {
  std::vector<Expr> indices;
  const size_t own = x->extents.size() - 2;
  for (size_t d = 0; d < own; ++d)
    indices.push_back(tensor::as_int(x->extents[d]) == 1 ? tensor::imm(int64_t{0})
                                                         : batch[batch.size() - own + d]);
  if (transposed) std::swap(row, column);
  indices.push_back(std::move(row));
  indices.push_back(std::move(column));
  return at(x, std::move(indices));
}

}  // namespace

Buffer matmul(Builder& b, const Buffer& x, const Buffer& y, MatmulOptions options) {
  if (b.failed()) return x;
  if (x->rank() < 2 || y->rank() < 2)
    return b.fail("matmul", absl::StrCat("cannot multiply ", describe(x), " and ", describe(y)));
  const auto view = [](const Buffer& operand, bool transposed) {
    const size_t rank = operand->extents.size();
    std::array shape = {operand->extents[rank - 2], operand->extents[rank - 1]};
    if (transposed) std::swap(shape[0], shape[1]);
    return shape;
  };
  const auto [m, k] = view(x, options.transpose_a);
  const auto [ky, n] = view(y, options.transpose_b);
  const std::array batches = {batch_of(x), batch_of(y)};
  std::optional<std::vector<Expr>> extents = broadcast_extents(batches);
  if (!extents || !same_extent(k, ky) || accumulator(x->element) != accumulator(y->element) ||
      x->element == Element::kBool)
    return b.fail("matmul",
                  absl::StrCat("cannot multiply ", describe(x), options.transpose_a ? " (transposed)" : "",
                               " and ", describe(y), options.transpose_b ? " (transposed)" : ""));
  const std::string name = extents->empty() ? "matmul" : "batch_matmul";
  b.label(name);
  extents->push_back(m);
  extents->push_back(n);
  const Element sum_element = accumulator(x->element);
  const Buffer sum = b.reduce(name, sum_element, *extents, {k}, Combiner::kSum, [&](Indices i, Indices r) {
    const Type type{sum_element, 1};
    const Indices batch = i.first(i.size() - 2);
    const Expr row = i[i.size() - 2], column = i[i.size() - 1];
    return tensor::cast(type, element_at(x, batch, row, r[0], options.transpose_a)) *
           tensor::cast(type, element_at(y, batch, r[0], column, options.transpose_b));
  });
  return tensor::is_float(x->element) ? round_to(b, sum, x->element) : sum;
}

}  // namespace tf::ops
