#include "compiler/frontends/onnx/window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/whole_division.h"

namespace tf::onnx {
namespace {

using Ints = std::vector<int64_t>;

// Whole numbers from a file are bounded before anything is computed from them.
absl::Status check_size(const NodeReader& node, const Ints& list, const char* what, size_t spatial,
                        int64_t least) {
  if (list.size() != spatial)
    return node.invalid(absl::StrCat("attribute '", what, "' has ", list.size(), " entries, not ", spatial));
  for (int64_t entry : list) {
    if (entry < least || entry > INT32_MAX)
      return node.invalid(absl::StrCat("attribute '", what, "' has an entry ", entry));
  }
  return absl::OkStatus();
}

// Padding that keeps ceil(extent / stride) results; the odd one goes to the end (upper) or the beginning
// (lower).
void pad_same(const Ints& shape, bool upper, Window& window) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t extent = shape[i + 2], stride = window.strides[i];
    const int64_t reach = window.dilations[i] * (window.kernel[i] - 1) + 1;
    const int64_t total = std::max<int64_t>(0, (ceil_div(extent, stride) - 1) * stride + reach - extent);
    window.pads_begin[i] = upper ? total / 2 : total - total / 2;
    window.pads_end[i] = total - window.pads_begin[i];
  }
}

}  // namespace

absl::StatusOr<Window> read_window(NodeReader& node, NodeId x, const Ints& kernel) {
  const int rank = node.rank(x);
  if (rank < 3 || rank > 5)
    return node.invalid(absl::StrCat("needs an input of rank 3 to 5, not ", to_string(node.type(x))));
  const size_t spatial = rank - 2;
  Window window;
  TF_ASSIGN_OR_RETURN(window.kernel, node.ints_attribute("kernel_shape", kernel));
  if (!kernel.empty() && window.kernel != kernel)
    return node.invalid("kernel_shape differs from the shape of the weights");
  TF_ASSIGN_OR_RETURN(window.strides, node.ints_attribute("strides", Ints(spatial, 1)));
  TF_ASSIGN_OR_RETURN(window.dilations, node.ints_attribute("dilations", Ints(spatial, 1)));
  TF_ASSIGN_OR_RETURN(const Ints pads, node.ints_attribute("pads", Ints(2 * spatial, 0)));
  TF_RETURN_IF_ERROR(check_size(node, window.kernel, "kernel_shape", spatial, 1));
  TF_RETURN_IF_ERROR(check_size(node, window.strides, "strides", spatial, 1));
  TF_RETURN_IF_ERROR(check_size(node, window.dilations, "dilations", spatial, 1));
  TF_RETURN_IF_ERROR(check_size(node, pads, "pads", 2 * spatial, 0));
  window.pads_begin.assign(pads.begin(), pads.begin() + spatial);
  window.pads_end.assign(pads.begin() + spatial, pads.end());
  TF_ASSIGN_OR_RETURN(const std::string auto_pad, node.string_attribute("auto_pad", "NOTSET"));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_same(node.graph().shape(x), auto_pad == "SAME_UPPER", window);
  } else if (auto_pad == "VALID") {
    window.pads_begin.assign(spatial, 0);
    window.pads_end.assign(spatial, 0);
  } else if (auto_pad != "NOTSET") {
    return node.invalid(absl::StrCat("attribute 'auto_pad' is '", auto_pad, "'"));
  }
  return window;
}

}  // namespace tf::onnx
