// Pad and CenterCropPad.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;
using tensor::Element;

// One entry an axis; negative ones leave elements out.
struct Pads {
  Ints begin, end;
};

absl::StatusOr<Pads> read_pads(NodeReader& node, NodeId x) {
  const int rank = node.rank(x);
  Ints pads, axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.opset() < 11) {
    TF_ASSIGN_OR_RETURN(pads, node.ints_attribute(node.opset() < 2 ? "paddings" : "pads", {}));
  } else {
    TF_ASSIGN_OR_RETURN(pads, node.constant_ints(1, "pads"));
  }
  if (node.has(3)) {
    TF_ASSIGN_OR_RETURN(axes, node.constant_ints(3, "axes"));
    TF_ASSIGN_OR_RETURN(axes, node.axes(std::move(axes), rank));
  }
  if (pads.size() != 2 * axes.size()) return node.invalid("it does not have two pads per axis");
  Pads result{Ints(rank, 0), Ints(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    for (int64_t entry : {pads[i], pads[i + axes.size()]})
      if (std::abs(std::max(entry, -INT64_MAX)) > INT32_MAX)
        return node.invalid(absl::StrCat("a pad of ", entry));
    result.begin[axes[i]] += pads[i];
    result.end[axes[i]] += pads[i + axes.size()];
  }
  return result;
}

// Leaves out what negative pads say, which become 0.
Result cropped(NodeReader& node, NodeId x, Pads& pads) {
  Slice op;
  const Ints shape = node.graph().shape(x);
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t begin = std::min<int64_t>(pads.begin[d], 0), end = std::min<int64_t>(pads.end[d], 0);
    if (begin == 0 && end == 0) continue;
    const int64_t size = shape[d] + begin + end;
    if (size < 0)
      return node.invalid(
          absl::StrCat("it leaves out ", -begin - end, " of ", shape[d], " elements of axis ", d));
    op.axes.push_back(static_cast<int64_t>(d));
    op.starts.push_back(-begin);
    op.sizes.push_back(size);
    op.steps.push_back(1);
    pads.begin[d] -= begin;
    pads.end[d] -= end;
  }
  return op.axes.empty() ? Result(x) : node.emit(std::move(op), {x});
}

// The element of an axis that stands for place i, which may lie outside it.
int64_t mirrored(int64_t i, int64_t extent) {
  if (extent == 1) return 0;
  const int64_t period = 2 * (extent - 1), rest = ((i % period) + period) % period;
  return std::min(rest, period - rest);
}

// Elements of x itself around it, by a table for each padded axis.
Result from_itself(NodeReader& node, NodeId x, const Pads& pads, const std::string& mode) {
  const Ints shape = node.graph().shape(x);
  Resample op;
  std::vector<NodeId> operands = {x};
  const auto flush = [&]() -> absl::Status {
    if (op.axes.empty()) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(x, node.emit(std::exchange(op, {}), std::exchange(operands, {})));
    operands = {x};
    return absl::OkStatus();
  };
  for (size_t d = 0; d < shape.size(); ++d) {
    if (pads.begin[d] == 0 && pads.end[d] == 0) continue;
    if (shape[d] == 0) return node.invalid(absl::StrCat("axis ", d, " has no element to pad with"));
    const int64_t extent = pads.begin[d] + shape[d] + pads.end[d];
    TF_RETURN_IF_ERROR(node.count_made(4 * extent));
    Ints table(extent);
    for (int64_t o = 0; o < extent; ++o) {
      const int64_t i = o - pads.begin[d];
      table[o] = mode == "edge"      ? std::clamp<int64_t>(i, 0, shape[d] - 1)
                 : mode == "reflect" ? mirrored(i, shape[d])
                                     : ((i % shape[d]) + shape[d]) % shape[d];
    }
    if (op.axes.size() == 3) TF_RETURN_IF_ERROR(flush());
    op.axes.push_back(static_cast<int64_t>(d));
    operands.push_back(node.graph().add_constant(
        tensor_type(Element::kInt32, Ints{1, extent}),
        std::make_shared<const Blob>(write_integers(Element::kInt32, table)), "pad"));
  }
  TF_RETURN_IF_ERROR(flush());
  return x;
}

// A value that no attribute holds: x padded with anything, and the value where no element of x is.
Result with_computed_value(NodeReader& node, NodeId x, NodeId value, const Pads& pads) {
  const Ints shape = node.graph().shape(x);
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(Pad{pads.begin, pads.end, 0}, {x}));
  TF_ASSIGN_OR_RETURN(value, node.emit(Reshape{{}}, {value}));
  for (size_t d = 0; d < shape.size(); ++d) {
    if (pads.begin[d] == 0 && pads.end[d] == 0) continue;
    const int64_t extent = pads.begin[d] + shape[d] + pads.end[d];
    TF_RETURN_IF_ERROR(node.count_made(extent));
    Ints inside(extent), along(shape.size(), 1);
    std::fill(inside.begin() + pads.begin[d], inside.end() - pads.end[d], 1);
    along[d] = extent;
    const NodeId mask = node.graph().add_constant(
        tensor_type(Element::kBool, along),
        std::make_shared<const Blob>(write_integers(Element::kBool, inside)), "inside");
    TF_ASSIGN_OR_RETURN(y, node.emit(Where{}, {mask, y, value}));
  }
  return y;
}

bool is_padded(const Pads& pads) {
  const auto any = [](const Ints& list) {
    return std::ranges::any_of(list, [](int64_t p) { return p != 0; });
  };
  return any(pads.begin) || any(pads.end);
}

Result pad(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const std::string mode, node.string_attribute("mode", "constant"));
  if (mode != "constant" && mode != "edge" && mode != "reflect" && (mode != "wrap" || node.opset() < 19))
    return node.invalid(absl::StrCat("attribute 'mode' is '", mode, "'"));
  TF_ASSIGN_OR_RETURN(Pads pads, read_pads(node, x));
  TF_ASSIGN_OR_RETURN(x, cropped(node, x, pads));
  if (!is_padded(pads)) return node.emit(Unary{UnaryKind::kIdentity}, {x});
  if (mode != "constant") return from_itself(node, x, pads, mode);
  Pad op{pads.begin, pads.end, 0};
  if (node.opset() < 11) {
    TF_ASSIGN_OR_RETURN(op.value, node.float_attribute("value", 0));
    return node.emit(std::move(op), {x});
  }
  if (!node.has(2)) return node.emit(std::move(op), {x});
  TF_ASSIGN_OR_RETURN(const NodeId value, node.input(2));
  const Element element = node.type(x).element;
  if (node.type(value).element != element)
    return node.invalid(
        absl::StrCat("its value is ", to_string(node.type(value)), ", its input ", to_string(node.type(x))));
  if (element_count(node.graph().shape(value)).value_or(0) != 1)
    return node.invalid("its value is not a single number");
  const auto* known = as<Constant>(node.graph().node(value));
  if (known == nullptr) return with_computed_value(node, x, value, pads);
  op.value = read_floats(element, known->data->bytes())[0];
  // The attribute is a double.
  if (!tensor::is_float(element) && std::fabs(op.value) >= 0x1p53)
    return with_computed_value(node, x, value, pads);
  return node.emit(std::move(op), {x});
}

// The middle of x, or x in the middle of zeros; what is odd goes to the end.
Result center_crop_pad(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const Ints wanted, node.constant_ints(1, "shape"));
  Ints axes(node.rank(x));
  std::iota(axes.begin(), axes.end(), 0);
  TF_ASSIGN_OR_RETURN(axes, node.ints_attribute("axes", std::move(axes)));
  TF_ASSIGN_OR_RETURN(axes, node.axes(std::move(axes), node.rank(x)));
  if (wanted.size() != axes.size())
    return node.invalid(absl::StrCat("it has ", wanted.size(), " sizes for ", axes.size(), " axes"));
  const Ints shape = node.graph().shape(x);
  Pads pads{Ints(shape.size(), 0), Ints(shape.size(), 0)};
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t want = wanted[k], have = shape[axes[k]];
    if (want < 0 || want > INT32_MAX) return node.invalid(absl::StrCat("a size of ", want));
    const int64_t apart = want > have ? want - have : have - want, sign = want > have ? 1 : -1;
    pads.begin[axes[k]] = sign * (apart / 2);
    pads.end[axes[k]] = sign * (apart - apart / 2);
  }
  TF_ASSIGN_OR_RETURN(x, cropped(node, x, pads));
  if (!is_padded(pads)) return node.emit(Unary{UnaryKind::kIdentity}, {x});
  return node.emit(Pad{pads.begin, pads.end, 0}, {x});
}

constexpr std::array kPaddingRules = {NamedRule{"CenterCropPad", center_crop_pad}, NamedRule{"Pad", pad}};

}  // namespace

std::span<const NamedRule> padding_rules() {
  return kPaddingRules;
}

}  // namespace tf::onnx
