#pragma once
// Owns: a model of f32 as one of f16. Does not know: networks.

#include <string>

#include "absl/status/statusor.h"

namespace tf::zoo {

// The ONNX model with all that is f32 in f16: inputs, outputs, initializers, rounded to nearest, and the types that nodes
// cast to. Other types stay as they are. INVALID_ARGUMENT if the bytes are no model.
absl::StatusOr<std::string> in_halves(const std::string& model);

}  // namespace tf::zoo
