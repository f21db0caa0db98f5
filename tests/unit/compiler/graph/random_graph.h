#pragma once
// Owns: small random networks that import could have made, for tests of what must hold for every graph.

#include <random>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/host_tensor.h"

namespace tf::graph {

// Convolutions, pools, normalisation, residual sums, gates, concatenations and reshapes over maps of up to 12
// channels and 6 x 6 pixels, with one to three outputs, some of them read again; every other one has a batch
// with a name.
class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {}
  Graph make();
  std::vector<HostTensor> inputs(const Graph& graph);

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }
  NodeId constant(std::vector<int64_t> shape, double low = -1, double high = 1);
  NodeId add(Op op, std::vector<NodeId> inputs);
  NodeId any_map();
  NodeId convolved(NodeId x);
  NodeId joined(NodeId x);
  NodeId through_rows(NodeId x);
  NodeId grown_from(NodeId x);
  void grow();

  std::mt19937 random_;
  Graph graph_;
  std::vector<NodeId> maps_;  // of rank 4 and batch 1 or 2
};

// max |a - b| over all outputs.
double largest_difference(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b);

}  // namespace tf::graph
