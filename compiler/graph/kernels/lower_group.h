#pragma once
// Owns: the workload of a group: compiler/ops applied node by node. Does not know: layouts, schedules.

#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/kernels/group.h"

namespace tf::graph {

struct LoweredGroup {
  tensor::Workload workload;
  tensor::Binding binding;     // of the dimensions that the workload uses
  std::vector<NodeId> inputs;  // one a workload input: the node whose result it is
};

// Extents keep the names of dimensions, unless operands fit only because of the values of the names: then all
// are numbers. INVALID_ARGUMENT if an operator refuses its operands, with the node's name.
absl::StatusOr<LoweredGroup> lower_group(const Graph& graph, const Group& group);

// Copies a tensor of that type: the workload of a change of layout.
absl::StatusOr<LoweredGroup> lower_copy(const Graph& graph, NodeId source);

}  // namespace tf::graph
