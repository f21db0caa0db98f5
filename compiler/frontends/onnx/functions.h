#pragma once
// Owns: a model's own functions, whose calls become the nodes of their bodies. Does not know: operators.

#include "absl/status/status.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace tf::onnx {

// Replaces every node that calls a function of the model, in graphs of attributes and in functions too, by the
// function's nodes, with values of new names and the call's attributes. What a call leaves out is missing in them.
// INVALID_ARGUMENT, in one line, for a call that gives more than the function takes, and for functions that call
// themselves; UNIMPLEMENTED for a function of another set of operators than the model; RESOURCE_EXHAUSTED if calls of
// calls are more than a million nodes.
absl::Status expand_functions(::onnx::ModelProto& model);

}  // namespace tf::onnx
