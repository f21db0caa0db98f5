#pragma once
// Owns: the nodes of one ONNX graph, whether it is the model's or within one of its nodes, as nodes of ours.
// Does not know: what a model's inputs are.

#include <string>
#include <vector>

#include "compiler/frontends/onnx/node_reader.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace tf::onnx {

// Appends the graph's initializers, whose data it takes, and nodes; its inputs are values already. Errors
// name the node.
absl::Status import_graph(::onnx::GraphProto& proto, ImportState& state);

// A graph within a node, as a region of its own.
absl::StatusOr<ImportedRegion> import_region(const ::onnx::GraphProto& proto, ImportState& around,
                                             const std::vector<RegionInput>& inputs);

// A graph within a node, as nodes of the graph around: its outputs. `inputs` are the values of its inputs.
absl::StatusOr<std::vector<Value>> import_inline(const ::onnx::GraphProto& proto, ImportState& state,
                                                 const std::vector<Value>& inputs);

// "Foo (2 nodes), com.example.Bar": what the graph and those within it have that no rule is for, the most
// frequent first; empty if there is nothing.
std::string operators_without_rules(const ::onnx::GraphProto& proto);

// Names of the operators that rules exist for, sorted.
std::vector<std::string> operators_with_rules();

}  // namespace tf::onnx
