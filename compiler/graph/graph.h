#pragma once
// Owns: the graph IR: nodes in topological order, each one operator with typed results. Does not know:
// ONNX, kernels, layouts.
//
// A Graph is a value. Passes are pure functions from graph to graph; nodes are named by their place in the
// graph, so a NodeId means something only beside its own graph. Extents are expressions over the graph's
// named dimensions, and every named dimension has a value in `binding`, so every extent has a number:
// Graph::value.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/op.h"
#include "compiler/tensor/workload.h"

namespace tf::graph {

struct TensorType {
  tensor::Element element = tensor::Element::kFloat32;
  std::vector<tensor::Expr> extents;
  int rank() const { return static_cast<int>(extents.size()); }
};

enum class NodeId : int32_t {};
inline int index(NodeId id) {
  return static_cast<int>(id);
}

struct Node {
  std::string name;  // the model's own, for people; need not be unique
  Op op;
  std::vector<NodeId> inputs;          // earlier nodes
  TensorType type;                     // of the result; of several, of the first
  std::vector<TensorType> more_types;  // of the other results, which nodes of Result stand for
};

struct Output {
  std::string name;
  NodeId node;
};

struct Graph {
  std::string name;
  std::vector<tensor::Dimension> dims;
  tensor::Binding binding;  // a value for each of dims
  std::vector<Node> nodes;
  std::vector<Output> outputs;

  const Node& node(NodeId id) const { return nodes[index(id)]; }
  const TensorType& type(NodeId id) const { return nodes[index(id)].type; }
  // The nodes that are Input, in order: the model's inputs.
  std::vector<NodeId> inputs() const;
  // The value of an extent under the binding.
  int64_t value(const tensor::Expr& extent) const;
  std::vector<int64_t> shape(const TensorType& type) const;
  std::vector<int64_t> shape(NodeId id) const { return shape(type(id)); }

  // Appends a node whose type is inferred. INVALID_ARGUMENT says which node and why its operands do not fit.
  absl::StatusOr<NodeId> add(Op op, std::vector<NodeId> inputs, std::string node_name);
  NodeId add_input(TensorType type, std::string node_name);
  NodeId add_constant(TensorType type, BlobRef data, std::string node_name);
};

// For each node, those that read it, once each, in order; graph outputs are not counted.
std::vector<std::vector<NodeId>> users(const Graph& graph);
// For each node, whether it is a graph output.
std::vector<bool> is_output(const Graph& graph);

// A row-major type of known extents.
TensorType tensor_type(tensor::Element element, std::span<const int64_t> shape);
// Product of the extents; INVALID_ARGUMENT if it or its bytes do not fit 2^46 (no real tensor does not).
absl::StatusOr<int64_t> element_count(std::span<const int64_t> shape);
// "f32[1, 3, 224, 224]", with named dimensions by name.
std::string to_string(const TensorType& type);

template <typename T>
const T* as(const Node& node) {
  return std::get_if<T>(&node.op);
}

}  // namespace tf::graph
