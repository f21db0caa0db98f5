#pragma once
// Owns: the value of a model's input as a user writes it. Does not know: graphs.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/host_tensor.h"

namespace tf::onnx {

// "16000", "1,2,3" or "true" as a tensor of that element type. `extents` are those that the model declares, with nothing
// for one that it leaves open; without a declaration it is a scalar if it is one number, else a row. INVALID_ARGUMENT, in
// one line, if a number is not of that type, or if the extents want another count.
absl::StatusOr<graph::HostTensor> given_input(
    const std::string& name, const std::string& text, tensor::Element element,
    const std::optional<std::vector<std::optional<int64_t>>>& extents);

}  // namespace tf::onnx
