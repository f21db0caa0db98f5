// Operators that move elements.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/whole_division.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.
using tensor::Expr;

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

// The extent that -1 stands for: all of x's elements divided by the other extents. Named dimensions that
// `kept` axes take over cancel, so that a batch stays a name.
absl::StatusOr<Expr> rest_of(NodeReader& node, const std::vector<Expr>& from, const std::vector<bool>& kept,
                             int64_t divisor) {
  std::vector<Expr> left;
  for (size_t i = 0; i < from.size(); ++i) {
    if (i >= kept.size() || !kept[i]) left.push_back(from[i]);
  }
  int64_t known = 1;
  std::vector<Expr> named;
  for (const Expr& extent : left) {
    if (auto number = tensor::as_int(extent)) {
      known *= *number;
    } else {
      named.push_back(extent);
    }
  }
  if (divisor >= 1 && known % divisor == 0) {
    named.push_back(tensor::imm(known / divisor));
    return product(named);
  }
  const int64_t total = node.graph().value(product(left));
  if (divisor < 1 || total % divisor != 0)
    return node.invalid(absl::StrCat(total, " elements do not divide by ", divisor));
  return tensor::imm(total / divisor);
}

Result reshape(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(Ints want, node.ints_attribute("shape", {}));  // an operand since operator set 5
  if (node.opset() >= 5) {
    TF_ASSIGN_OR_RETURN(want, node.constant_ints(1, "shape"));
  }
  TF_ASSIGN_OR_RETURN(const int64_t allow_zero, node.int_attribute("allowzero", 0));
  const std::vector<Expr> from = node.type(x).extents;
  std::vector<Expr> extents(want.size());
  std::vector<bool> kept(from.size());
  int open = -1;
  int64_t divisor = 1;
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i] == 0 && allow_zero == 0 && i < from.size()) {
      extents[i] = from[i];
      kept[i] = true;
    } else if (want[i] == -1 && open < 0) {
      open = static_cast<int>(i);
    } else if (want[i] >= (allow_zero != 0 ? 0 : 1) && !__builtin_mul_overflow(divisor, want[i], &divisor)) {
      extents[i] = tensor::imm(want[i]);
    } else {
      return node.invalid(absl::StrCat("its shape has an entry ", want[i], " that is invalid"));
    }
  }
  if (open >= 0) {
    TF_ASSIGN_OR_RETURN(extents[open], rest_of(node, from, kept, divisor));
  }
  const bool is_sized = node.opset() >= 5 && node.holds_sizes(*node.input(1));
  return is_sized ? node.emit_sized(Reshape{std::move(extents)}, {x})
                  : node.emit(Reshape{std::move(extents)}, {x});
}

Result flatten(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(int64_t axis, node.int_attribute("axis", 1));
  const int rank = node.rank(x);
  if (axis < -rank || axis > rank)
    return node.invalid(absl::StrCat("axis ", axis, " of a tensor of rank ", rank));
  if (axis < 0) axis += rank;
  const std::vector<Expr> extents = node.type(x).extents;
  const std::span<const Expr> all(extents);
  return node.emit(Reshape{{product(all.first(axis)), product(all.subspan(axis))}}, {x});
}

// Axes were an attribute before operator set 13, an operand since.
absl::StatusOr<Ints> axes_of(NodeReader& node) {
  if (node.has(1)) return node.constant_ints(1, "axes");
  return node.ints_attribute("axes", {});
}

Result squeeze(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(Ints axes, axes_of(node));
  TF_ASSIGN_OR_RETURN(axes, node.axes(std::move(axes), node.rank(x)));
  const Ints shape = node.graph().shape(x);
  std::vector<Expr> extents;
  for (int i = 0; i < node.rank(x); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (named && shape[i] != 1)
      return node.invalid(absl::StrCat("axis ", i, " has size ", shape[i], ", not 1"));
    if (!named && (!axes.empty() || shape[i] != 1)) extents.push_back(node.type(x).extents[i]);
  }
  return node.emit(Reshape{std::move(extents)}, {x});
}

Result unsqueeze(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(Ints axes, axes_of(node));
  if (axes.size() > 8) return node.invalid("too many axes");
  TF_ASSIGN_OR_RETURN(axes, node.axes(std::move(axes), node.rank(x) + static_cast<int>(axes.size())));
  std::vector<Expr> extents = node.type(x).extents;
  std::sort(axes.begin(), axes.end());
  for (int64_t axis : axes) {
    if (axis > static_cast<int64_t>(extents.size())) return node.invalid("an axis is named twice");
    extents.insert(extents.begin() + axis, tensor::imm(1));
  }
  return node.emit(Reshape{std::move(extents)}, {x});
}

Result transpose(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  Ints reversed(node.rank(x));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  TF_ASSIGN_OR_RETURN(Ints perm, node.ints_attribute("perm", reversed));
  return node.emit(Transpose{std::move(perm)}, {x});
}

Result concat(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(std::vector<NodeId> inputs, node.inputs());
  if (inputs.empty()) return node.invalid("it has no operand");
  if (!node.has_attribute("axis")) return node.invalid("attribute 'axis' is missing");
  TF_ASSIGN_OR_RETURN(int64_t axis, node.int_attribute("axis", 0));
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, node.rank(inputs[0])));
  return node.emit(Concat{axis}, std::move(inputs));
}

Result split(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(int64_t axis, node.int_attribute("axis", 0));
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, node.rank(x)));
  const int64_t extent = node.graph().shape(x)[axis], parts = node.output_count();
  const int64_t each = ceil_div(extent, parts);
  Ints sizes(parts, each);
  sizes.back() = extent - each * (parts - 1);
  TF_ASSIGN_OR_RETURN(sizes, node.ints_attribute("split", std::move(sizes)));
  if (node.has(1)) {
    TF_ASSIGN_OR_RETURN(sizes, node.constant_ints(1, "sizes"));
  }
  if (static_cast<int64_t>(sizes.size()) != parts)
    return node.invalid("it does not have one size per output");
  NodeId first{};
  int64_t start = 0;
  for (int64_t i = 0; i < parts; ++i) {
    TF_ASSIGN_OR_RETURN(NodeId part, node.emit(Slice{{axis}, {start}, {sizes[i]}, {1}}, {x}));
    if (i == 0) first = part;
    node.set_output(static_cast<int>(i), part);
    start += sizes[i];  // cannot overflow: the slice was within the extent
  }
  if (start != extent)
    return node.invalid(absl::StrCat("its sizes sum to ", start, ", but the axis has ", extent));
  return first;
}

struct SliceArguments {
  Ints starts, ends, axes, steps;
};
absl::StatusOr<SliceArguments> slice_arguments(NodeReader& node) {
  SliceArguments arguments;
  if (node.opset() < 10) {
    TF_ASSIGN_OR_RETURN(arguments.starts, node.ints_attribute("starts", {}));
    TF_ASSIGN_OR_RETURN(arguments.ends, node.ints_attribute("ends", {}));
    TF_ASSIGN_OR_RETURN(arguments.axes, node.ints_attribute("axes", {}));
  } else {
    TF_ASSIGN_OR_RETURN(arguments.starts, node.constant_ints(1, "starts"));
    TF_ASSIGN_OR_RETURN(arguments.ends, node.constant_ints(2, "ends"));
    if (node.has(3)) {
      TF_ASSIGN_OR_RETURN(arguments.axes, node.constant_ints(3, "axes"));
    }
    if (node.has(4)) {
      TF_ASSIGN_OR_RETURN(arguments.steps, node.constant_ints(4, "steps"));
    }
  }
  const size_t n = arguments.starts.size();
  if (arguments.axes.empty()) {
    arguments.axes.resize(n);
    std::iota(arguments.axes.begin(), arguments.axes.end(), 0);
  }
  if (arguments.steps.empty()) arguments.steps.assign(n, 1);
  if (arguments.ends.size() != n || arguments.axes.size() != n || arguments.steps.size() != n)
    return node.invalid("starts, ends, axes and steps have different lengths");
  return arguments;
}

Result slice(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(SliceArguments arguments, slice_arguments(node));
  TF_ASSIGN_OR_RETURN(const Ints axes, node.axes(arguments.axes, node.rank(x)));
  Slice op;
  // What is all of a size at one value is a part of it at another.
  const bool is_open = node.is_sized(x);
  const Ints shape = node.graph().shape(x);
  for (size_t k = 0; k < axes.size(); ++k) {
    // Ends beyond the tensor (INT64_MAX means "to the end") are clamped, as ONNX says.
    const int64_t extent = shape[axes[k]];
    const int64_t step = std::clamp<int64_t>(arguments.steps[k], -INT32_MAX, INT32_MAX);
    if (step == 0) return node.invalid("a step of 0");
    auto place = [&](int64_t at, int64_t low, int64_t high) {
      return std::clamp(at < 0 ? std::max(at, -extent - 1) + extent : at, low, high);
    };
    const int64_t last = std::max<int64_t>(extent - 1, 0);
    const int64_t start =
        step > 0 ? place(arguments.starts[k], 0, extent) : place(arguments.starts[k], 0, last);
    const int64_t end = step > 0 ? place(arguments.ends[k], 0, extent) : place(arguments.ends[k], -1, last);
    const int64_t span = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
    const int64_t size = extent == 0 ? 0 : std::max<int64_t>(span, 0);
    if (start == 0 && step == 1 && size == extent && !is_open)
      continue;  // the whole axis: a named dimension stays one
    op.axes.push_back(axes[k]);
    op.starts.push_back(start);
    op.sizes.push_back(size);
    op.steps.push_back(step);
  }
  return node.emit(std::move(op), {x});
}

Result expand(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const Ints shape, node.constant_ints(1, "shape"));
  if (auto count = element_count(shape); !count.ok()) return node.invalid("its shape is invalid");
  TF_ASSIGN_OR_RETURN(const NodeId extents, node.input(1));
  const Expand op{tensor_type(tensor::Element::kInt64, shape).extents};
  return node.holds_sizes(extents) ? node.emit_sized(op, {x}) : node.emit(op, {x});
}

Result gather(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId data, node.input(0));
  TF_ASSIGN_OR_RETURN(NodeId indices, node.input(1));
  TF_ASSIGN_OR_RETURN(int64_t axis, node.int_attribute("axis", 0));
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, node.rank(data)));
  if (auto* known = as<Constant>(node.graph().node(indices))) {
    const int64_t extent = node.graph().shape(data)[axis];
    for (int64_t i : read_integers(node.type(indices).element, known->data->bytes())) {
      if (i < -extent || i >= extent)
        return node.invalid(absl::StrCat("index ", i, " of axis ", axis, ", whose size is ", extent));
    }
  }
  return node.emit(Gather{axis}, {data, indices});
}

constexpr std::array kShapeRules = {NamedRule{"Concat", concat},       NamedRule{"Expand", expand},
                                    NamedRule{"Flatten", flatten},     NamedRule{"Gather", gather},
                                    NamedRule{"Reshape", reshape},     NamedRule{"Slice", slice},
                                    NamedRule{"Split", split},         NamedRule{"Squeeze", squeeze},
                                    NamedRule{"Transpose", transpose}, NamedRule{"Unsqueeze", unsqueeze}};

}  // namespace

std::span<const NamedRule> shape_rules() {
  return kShapeRules;
}

}  // namespace tf::onnx
