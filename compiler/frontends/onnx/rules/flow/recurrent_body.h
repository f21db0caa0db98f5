#pragma once
// Owns: writing the body of a recurrence's loop: the nodes of gates. Does not know: which gates a cell has.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace tf::onnx {

struct Activation {
  std::string name;  // in lower case
  std::optional<double> alpha, beta;
};

// A region while nodes are appended. Keeps the first error; what is appended after it does nothing.
class RecurrentBody {
 public:
  using NodeId = graph::NodeId;

  RecurrentBody(const graph::Graph& around, std::string name);

  NodeId add(graph::Op op, std::vector<NodeId> inputs);
  NodeId input(const graph::TensorType& type) { return region.add_input(type, name_); }
  // A node of the graph around: its constant, or one more input.
  NodeId capture(NodeId id);
  NodeId whole(int64_t value);
  // Of the other's element type.
  NodeId number(NodeId like, double value);

  NodeId binary(graph::BinaryKind kind, NodeId a, NodeId b) { return add(graph::Binary{kind}, {a, b}); }
  NodeId unary(graph::UnaryKind kind, NodeId x) { return add(graph::Unary{kind}, {x}); }
  NodeId plus(NodeId a, NodeId b) { return binary(graph::BinaryKind::kAdd, a, b); }
  NodeId times(NodeId a, NodeId b) { return binary(graph::BinaryKind::kMul, a, b); }
  NodeId scaled(NodeId x, double factor) { return times(x, number(x, factor)); }
  NodeId shifted(NodeId x, double by) { return plus(x, number(x, by)); }
  NodeId one_minus(NodeId x) { return binary(graph::BinaryKind::kSub, number(x, 1), x); }
  // `count` gates from number i on, of x, whose last axis holds gates of that many units.
  NodeId gate(NodeId x, int64_t i, int64_t units, int64_t count = 1);
  // a · bᵀ.
  NodeId product(NodeId a, NodeId b) { return add(graph::MatMul{.transpose_b = true}, {a, b}); }
  // f(x). UNIMPLEMENTED for an activation that ONNX does not name.
  NodeId apply(const Activation& f, NodeId x);

  graph::Graph region;
  std::vector<NodeId> captured;
  absl::Status status;

 private:
  const graph::Graph& around_;
  const std::string name_;
};

}  // namespace tf::onnx
