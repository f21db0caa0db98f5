// Operators of networks that find objects: pooling of regions, and what undoes pooling.
#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/formula.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;
using tensor::Element;
using tensor::Expr;
using tensor::imm;

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

// Which elements of an axis each bin of each region covers: bool [regions, bins, extent].
Term covered(const Term& first, const Term& last, int64_t bins, int64_t extent) {
  Formula& f = first.formula();
  const Element element = first.element();
  const auto nearest = [](const Term& x) { return where(x < 0.0, -floor(0.5 - x), floor(x + 0.5)); };
  const Term start = reshape(nearest(first), std::vector<Expr>{first.extents()[0], imm(1), imm(1)});
  const Term end = reshape(nearest(last), std::vector<Expr>{first.extents()[0], imm(1), imm(1)});
  const Term size = max(end - start + 1.0, 1.0) / static_cast<double>(bins);
  const Term bin = f.iota(bins, 1, 3, element), place = f.iota(extent, 2, 3, element);
  const Term from = floor(bin * size) + start, to = -floor(-((bin + 1.0) * size)) + start;
  return both(from <= place, place < to);
}

// The largest element of each bin of each region (image, left, top, right, bottom); 0 in a bin without elements.
Result max_roi_pool(NodeReader& node) {
  Formula f(node);
  const Term given = f.input(0), x = widened(given), regions = widened(f.input(1));
  TF_ASSIGN_OR_RETURN(const Ints bins, node.ints_attribute("pooled_shape", {}));
  const double scale = f.attribute("spatial_scale", 1.0);
  if (!f.ok()) return f.status();
  if (x.rank() != 4 || !x.is_float() || regions.rank() != 2 || regions.shape()[1] != 5)
    return node.invalid("it pools " + to_string(x.type()) + " by regions " + to_string(regions.type()));
  if (bins.size() != 2 || bins[0] < 1 || bins[1] < 1 || bins[0] > 4096 || bins[1] > 4096)
    return node.invalid("its pooled_shape is not a height and a width of 1 to 4096");
  const Ints shape = x.shape();
  const Expr count = regions.extents()[0];
  const auto column = [&](int64_t i) { return reshape(slice(regions, 1, i, 1), std::vector<Expr>{count}); };
  const auto corner = [&](int64_t i) { return column(i) * scale; };
  const Term rows = covered(corner(2), corner(4), bins[0], shape[2]);
  const Term columns = covered(corner(1), corner(3), bins[1], shape[3]);
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const auto widen = [](const Term& mask, size_t axis) {
    std::vector<Expr> extents = mask.extents();
    extents.insert(extents.begin() + 1, imm(1));
    extents.insert(extents.begin() + static_cast<int64_t>(axis), imm(1));
    return reshape(mask, extents);
  };
  if (!f.ok()) return f.status();
  const Term images = gather(x, cast(column(0), Element::kInt64), 0);
  // [regions, channels, height, 1, width] by columns' bins, then [regions, channels, 1, bins, height] by rows'.
  const Term wide =
      reshape(images, std::vector<Expr>{count, imm(shape[1]), imm(shape[2]), imm(1), imm(shape[3])});
  const Term by_column = reduce(ReduceKind::kMax, where(widen(columns, 2), wide, kNone), {4}, false);
  const Term turned = reshape(transpose(by_column, {0, 1, 3, 2}),
                              std::vector<Expr>{count, imm(shape[1]), imm(1), imm(bins[1]), imm(shape[2])});
  const Term by_row =
      reduce(ReduceKind::kMax,
             where(reshape(rows, std::vector<Expr>{count, imm(1), imm(bins[0]), imm(1), imm(shape[2])}),
                   turned, kNone),
             {4}, false);
  return f.result(cast(where(equal(by_row, kNone), 0.0, by_row), given.element()));
}

constexpr std::array kDetectionRules = {NamedRule{"MaxRoiPool", max_roi_pool},
                                        NamedRule{"MaxUnpool", max_unpool}, NamedRule{"RoiAlign", roi_align}};

}  // namespace

std::span<const NamedRule> detection_rules() {
  return kDetectionRules;
}

}  // namespace tf::onnx
