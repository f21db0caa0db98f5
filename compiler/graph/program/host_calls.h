#pragma once
// Owns: which host function of the runtime computes an operator, and the attributes that it takes. Does not know: where
// operands are.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/program/program.h"
#include "compiler/runtime/host/functions.h"

namespace tf::graph {

// Of a node whose operator is one of the runtime's.
HostCall host_call(const Node& node);

// The numbers that the call takes as tf_call.dims: its attributes, then the types of operands and results.
std::vector<int64_t> host_numbers(const HostCall& call, const Graph& graph, const Node& node);
// The same of types whose extents are numbers.
std::vector<int64_t> host_numbers(const HostCall& call, std::span<const TensorType> types);

// The function of that name in this program, and the memory that it needs for those numbers.
tf_kernel host_function(std::string_view name);
tf_host_workspace host_workspace(std::string_view name, const std::vector<int64_t>& numbers);

// Runs the function here. Buffers hold the bytes of its operands, and have those of its results. OUT_OF_RANGE if it
// fails, as it does for an index outside of an axis.
absl::Status run_host_function(const HostCall& call, const std::vector<int64_t>& numbers,
                               std::vector<std::string>& buffers);

}  // namespace tf::graph
