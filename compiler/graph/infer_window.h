#pragma once
// Owns: result types of the operators that slide a window over spatial axes. Does not know: other operators.

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"

namespace tf::graph {

absl::StatusOr<TensorType> infer_conv(const Graph& graph, const Conv& op, const TensorType& x,
                                      const TensorType& w, const TensorType* bias);
absl::StatusOr<TensorType> infer_pool(const Graph& graph, const Pool& op, const TensorType& x);

}  // namespace tf::graph
