#pragma once
// Owns: numbers of a model's tables that depend on its dimensions, as the runtime computes them. Does not know: which
// numbers there are.

#include "compiler/graph/program/named_dimension.h"
#include "compiler/runtime/blob/model_blob.h"

namespace tf::driver {

// The number with the code that computes it from the dimensions; a null expression is the greatest value alone. It must
// be made of what sizes are made of: whole numbers, the dimensions, sums, products, quotients, least and greatest.
runtime::Sized sized(const tensor::Expr& number, int64_t greatest,
                     const std::vector<graph::NamedDimension>& dims);

}  // namespace tf::driver
