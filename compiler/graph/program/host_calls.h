#pragma once
// Owns: which host function of the runtime computes an operator, and the attributes that it takes. Does not know: where
// operands are.

#include <string_view>

#include "compiler/graph/program/program.h"
#include "compiler/runtime/host/functions.h"

namespace tf::graph {

// Of a node whose operator is one of the runtime's.
HostCall host_call(const Node& node);

// The numbers that the call takes as tf_call.dims: its attributes, then the types of operands and results.
std::vector<int64_t> host_numbers(const HostCall& call, const Graph& graph, const Node& node);

// The function of that name in this program, and the memory that it needs for those numbers.
tf_kernel host_function(std::string_view name);
tf_host_workspace host_workspace(std::string_view name, const std::vector<int64_t>& numbers);

}  // namespace tf::graph
