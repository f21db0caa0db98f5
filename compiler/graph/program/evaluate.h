#pragma once
// Owns: the reference evaluation of a graph, kernel by kernel through its workloads: floats in double
// precision, whole numbers exactly. The oracle of tests, and what `compiler check --interpret` runs. Slow on
// purpose.

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/host_tensor.h"

namespace tf::graph {

// The outputs for one value an input, in order. INVALID_ARGUMENT if an input's element or shape is not the
// graph's; OUT_OF_RANGE if a gather's index lies outside its axis.
absl::StatusOr<std::vector<HostTensor>> evaluate(const Graph& graph, const std::vector<HostTensor>& inputs);

// OK if each input's element type and shape are those of the graph; INVALID_ARGUMENT names the one that is
// not.
absl::Status check_inputs(const Graph& graph, const std::vector<HostTensor>& inputs);

}  // namespace tf::graph
