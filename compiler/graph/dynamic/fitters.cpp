#include "compiler/graph/dynamic/fitters.h"

namespace tf::graph {

Fitters::Fitters(const Samples& samples)
    : given_(samples), counted_(in_multiples(samples)), numbers_(given_.samples()) {
  for (size_t d = 0; d < samples.dims.size(); ++d) {
    const NamedDimension& dim = samples.dims[d];
    if (dim.multiple_of != 1)
      counts_[counted_.samples().dims[d].var.get()] = tensor::floor_div(dim.var, dim.multiple_of);
  }
}

std::optional<tensor::Expr> Fitters::fit(const std::vector<int64_t>& values,
                                         std::span<const tensor::Expr> nearby) {
  if (samples().is_scattered) return numbers_.find(values, nearby);
  std::optional<tensor::Expr> found = given_.fit(values);
  if (found || counts_.empty()) return found;
  found = counted_.fit(values);
  return found ? std::optional(in_network(*found)) : std::nullopt;
}

std::set<std::vector<int64_t>> Fitters::questions() const {
  std::set<std::vector<int64_t>> all = given_.questions();
  for (std::vector<int64_t> point : counted_.questions()) {
    for (size_t d = 0; d < point.size(); ++d) point[d] *= samples().dims[d].multiple_of;
    all.insert(std::move(point));
  }
  return all;
}

}  // namespace tf::graph
