#pragma once
// Owns: cutting a graph into groups, each of which becomes one kernel. Does not know: layouts, how a group is
// computed.

#include <vector>

#include "compiler/graph/graph.h"

namespace tf::graph {

// Nodes that are computed together, in order. Only the last one's result is seen from outside.
struct Group {
  std::vector<NodeId> nodes;
  NodeId result() const { return nodes.back(); }
};

// Every node that needs a kernel is in exactly one group; groups come in
// an order in which they can run. A convolution, matrix product, pool, softmax or reduction takes the
// element-wise nodes after it into its group (bias, activation, residual sum, gate), as far as no other
// kernel needs what lies between; a reduction takes the element-wise nodes before it that nothing else reads
// (squares), and one that keeps its axes further reductions of the same rows and what is computed over whole
// rows again (layer norm, however it is written); scores take their
// softmax and the product with values (attention), with transposes around that leave rows whole; element-wise
// nodes that are left form chains, with what only they read: element-wise nodes and slices; everything else stands alone.
std::vector<Group> make_groups(const Graph& graph);

// True for all but inputs, constants, further results of other nodes, views and calls of the runtime.
bool needs_kernel(const Node& node);
// A reshape: the same bytes under another shape, so no kernel.
bool is_view(const Node& node);
// A host function or control flow.
bool is_runtime_call(const Node& node);

}  // namespace tf::graph
