#pragma once
// Owns: numbers of a model's tables that depend on its dimensions, as the runtime computes them. Does not know: which
// numbers there are.

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/program/named_dimension.h"
#include "compiler/runtime/blob/model_blob.h"

namespace tf::driver {

// The number with the code that computes it from the dimensions; a null expression is the greatest value alone. It must
// be made of what sizes are made of: whole numbers, the dimensions, sums, products, quotients, least and greatest.
runtime::Sized sized(const tensor::Expr& number, int64_t greatest,
                     const std::vector<graph::NamedDimension>& dims);

// The code of the number, in which these variables are the dimensions 0, 1, …; nothing if it is made of anything else.
std::optional<std::vector<int64_t>> size_code(const tensor::Expr& number,
                                              const std::vector<tensor::Var>& dims);

}  // namespace tf::driver
