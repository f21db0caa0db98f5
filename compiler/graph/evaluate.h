#pragma once
// Owns: the reference evaluation of a graph in double precision, kernel by kernel through its workloads: the
// oracle of tests, and what `compiler check` compares with. Slow on purpose.

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/host_tensor.h"

namespace tf::graph {

// The outputs for one value an input, in order. INVALID_ARGUMENT if an input's element or shape is not the
// graph's.
absl::StatusOr<std::vector<HostTensor>> evaluate(const Graph& graph, const std::vector<HostTensor>& inputs);

// OK if each input's element type and shape are those of the graph; INVALID_ARGUMENT names the one that is
// not.
absl::Status check_inputs(const Graph& graph, const std::vector<HostTensor>& inputs);

}  // namespace tf::graph
