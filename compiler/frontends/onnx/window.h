#pragma once
// Owns: the attributes of a sliding window, which convolutions, quantized ones and pools share. Does not
// know: what is computed in it.

#include <vector>

#include "compiler/frontends/onnx/node_reader.h"

namespace tf::onnx {

// One entry a spatial axis each.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads_begin, pads_end;
};

// `kernel`: what the weights say (convolutions), or empty where only the attribute does (pools). auto_pad is
// turned into pads. INVALID_ARGUMENT where attributes do not fit each other or x.
absl::StatusOr<Window> read_window(NodeReader& node, NodeId x, const std::vector<int64_t>& kernel);

}  // namespace tf::onnx
