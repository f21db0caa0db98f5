// Operators of networks that find objects: pooling of regions, and what undoes pooling.
#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

Result roi_align(NodeReader& node) {
  std::vector<NodeId> operands(3);
  for (int i = 0; i < 3; ++i) {
    TF_ASSIGN_OR_RETURN(operands[static_cast<size_t>(i)], node.input(i));
  }
  RoiAlign op;
  TF_ASSIGN_OR_RETURN(op.height, node.int_attribute("output_height", 1));
  TF_ASSIGN_OR_RETURN(op.width, node.int_attribute("output_width", 1));
  TF_ASSIGN_OR_RETURN(op.sampling_ratio, node.int_attribute("sampling_ratio", 0));
  TF_ASSIGN_OR_RETURN(op.scale, node.float_attribute("spatial_scale", 1));
  TF_ASSIGN_OR_RETURN(const std::string mode, node.string_attribute("mode", "avg"));
  if (mode != "avg" && mode != "max") return node.invalid("its mode is '" + mode + "', not 'avg' or 'max'");
  op.maximum = mode == "max";
  TF_ASSIGN_OR_RETURN(const std::string coordinates,
                      node.string_attribute("coordinate_transformation_mode",
                                            node.opset() < 16 ? "output_half_pixel" : "half_pixel"));
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return node.invalid("its coordinate_transformation_mode is '" + coordinates + "'");
  op.half_pixel = coordinates == "half_pixel";
  return node.emit(op, std::move(operands));
}

// The extents that the operand of the pooling had, if it was as small as it could be.
absl::StatusOr<Ints> unpooled_shape(NodeReader& node, NodeId x) {
  const auto spatial = static_cast<size_t>(std::max(node.rank(x) - 2, 0));
  TF_ASSIGN_OR_RETURN(const Ints kernel, node.ints_attribute("kernel_shape", {}));
  TF_ASSIGN_OR_RETURN(const Ints strides, node.ints_attribute("strides", Ints(spatial, 1)));
  TF_ASSIGN_OR_RETURN(const Ints pads, node.ints_attribute("pads", Ints(2 * spatial, 0)));
  if (kernel.size() != spatial || strides.size() != spatial || pads.size() != 2 * spatial)
    return node.invalid(absl::StrCat("its kernel, strides and pads are not those of ", spatial, " axes"));
  Ints shape = node.graph().shape(x);
  constexpr int64_t kMost = int64_t{1} << 31;
  for (size_t i = 0; i < spatial; ++i) {
    for (const int64_t number : {kernel[i], strides[i], pads[i], pads[spatial + i]})
      if (number < 0 || number > kMost) return node.invalid("its kernel, strides or pads are out of range");
    shape[2 + i] = (shape[2 + i] - 1) * strides[i] + kernel[i] - pads[i] - pads[spatial + i];
    if (shape[2 + i] < 0)
      return node.invalid(absl::StrCat("axis ", 2 + i, " of its result has a negative extent"));
  }
  return shape;
}

Result max_unpool(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const NodeId indices, node.input(1));
  TF_ASSIGN_OR_RETURN(const Ints shape, unpooled_shape(node, x));
  MaxUnpool op;
  for (const int64_t extent : shape) op.extents.push_back(tensor::imm(extent));
  TF_ASSIGN_OR_RETURN(const NodeId y, node.emit(std::move(op), {x, indices}));
  if (!node.has(2)) return y;
  TF_ASSIGN_OR_RETURN(const Ints wanted, node.constant_ints(2, "output shape"));
  if (wanted.size() != shape.size())
    return node.invalid("its output_shape has another rank than its operand");
  if (wanted == shape) return y;
  Pad pad{Ints(shape.size(), 0), Ints(shape.size(), 0), 0};
  for (size_t i = 0; i < shape.size(); ++i) {
    pad.end[i] = wanted[i] - shape[i];
    if (pad.end[i] < 0)
      return node.invalid(
          absl::StrCat("axis ", i, " of its output_shape is ", wanted[i], ", below ", shape[i]));
  }
  return node.emit(std::move(pad), {y});
}

constexpr std::array kDetectionRules = {NamedRule{"MaxUnpool", max_unpool}, NamedRule{"RoiAlign", roi_align}};

}  // namespace

std::span<const NamedRule> detection_rules() {
  return kDetectionRules;
}

}  // namespace tf::onnx
