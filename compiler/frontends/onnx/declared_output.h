#pragma once
// Owns: whether what a model declares of an output is what its nodes compute. Does not know: how they are
// read.

#include <onnx/onnx_pb.h>

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace tf::onnx {

// INVALID_ARGUMENT, with the name and both types, if the graph computes another element type, rank or extent
// for the output than it declares. What a declaration leaves open fits everything: no type, no shape, an
// extent that has a name or is below 1, and an empty shape, which exporters also write for an unknown one.
// Where the graph has named dimensions, extents are not compared: any may depend on the values of these, and
// exporters write the sizes of their example inputs.
absl::Status check_declared_output(const ::onnx::ValueInfoProto& output, const graph::Graph& graph,
                                   graph::NodeId computed);

}  // namespace tf::onnx
