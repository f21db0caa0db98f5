#include "compiler/graph/program/reuse_distance.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace tf::graph {
namespace {

uint64_t size_bytes(const Graph& graph, NodeId node) {
  uint64_t elements = 1;
  for (const int64_t extent : graph.shape(node)) elements *= static_cast<uint64_t>(extent);
  return elements * static_cast<uint64_t>(tensor::element_bytes(graph.type(node).element));
}

// A reader takes the whole constant, or rows of it.
uint64_t read_bytes(const Graph& graph, NodeId constant, const std::vector<NodeId>& readers) {
  uint64_t bytes = 0;
  for (const NodeId reader : readers) {
    const Node& node = graph.node(reader);
    const bool looks_up = as<Gather>(node) != nullptr && node.inputs[0] == constant;
    bytes += size_bytes(graph, looks_up ? reader : constant);
  }
  return std::min(bytes, size_bytes(graph, constant));
}

uint64_t rounded(uint64_t bytes) {
  const uint64_t power = std::bit_floor(bytes);
  if (bytes < power + power / 4) return power;
  return bytes < power + power / 4 * 3 ? power + power / 2 : 2 * power;
}

}  // namespace

uint64_t reuse_distance_bytes(const Graph& graph) {
  const std::vector<std::vector<NodeId>> readers = users(graph);
  uint64_t constants = 0, largest = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto node = NodeId(static_cast<int32_t>(i));
    if (as<Constant>(graph.node(node)) != nullptr) {
      constants += read_bytes(graph, node, readers[i]);
    } else {
      largest = std::max(largest, size_bytes(graph, node));
    }
  }
  return rounded(constants + largest);
}

}  // namespace tf::graph
