#pragma once
// Owns: the names of a model's values: that each is given once, and an order of nodes in which each is given
// before it is read. Does not know: operators.

#include <vector>

#include "absl/status/statusor.h"

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace tf::onnx {

// The nodes so that each stands behind those whose results it reads; where that leaves a choice, in the
// model's order. INVALID_ARGUMENT, in one line, if two inputs, two initializers, or a node and anything else
// give a value of one name, or if nodes read each other's results in a circle. An initializer may be an
// input's default. The pointers are into `graph`.
absl::StatusOr<std::vector<const ::onnx::NodeProto*>> ordered_nodes(const ::onnx::GraphProto& graph);

}  // namespace tf::onnx
