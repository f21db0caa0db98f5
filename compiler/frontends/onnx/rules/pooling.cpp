// Pooling: windows that slide, and whole feature maps.
#include <algorithm>
#include <array>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/frontends/onnx/window.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;

// With ceil_mode a last, partial window is added by more padding at the end, unless it would start there.
void round_up(const Ints& shape, Window& window) {
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t reach = window.dilations[i] * (window.kernel[i] - 1) + 1;
    const int64_t room = shape[i + 2] + window.pads_begin[i] + window.pads_end[i] - reach;
    const int64_t rest = room < 0 ? 0 : room % window.strides[i];
    if (rest == 0) continue;
    const int64_t last_start = room - rest + window.strides[i];
    if (last_start < shape[i + 2] + window.pads_begin[i]) window.pads_end[i] += window.strides[i] - rest;
  }
}

// Averages with ceil_mode and count_include_pad: what padding the attributes give counts, what a last,
// partial window adds to it does not. So the former becomes a Pad.
Result padded_average(NodeReader& node, NodeId x, const Window& given, Window rounded) {
  const auto rank = static_cast<size_t>(node.rank(x));
  Pad pad{Ints(rank, 0), Ints(rank, 0), 0};
  for (size_t i = 0; i < given.kernel.size(); ++i) {
    pad.begin[i + 2] = given.pads_begin[i];
    pad.end[i + 2] = given.pads_end[i];
    rounded.pads_begin[i] = 0;
    rounded.pads_end[i] -= given.pads_end[i];
  }
  TF_ASSIGN_OR_RETURN(x, node.emit(std::move(pad), {x}));
  return node.emit(Pool{PoolKind::kAverage, rounded.kernel, rounded.strides, rounded.dilations,
                        rounded.pads_begin, rounded.pads_end, false},
                   {x});
}

// Row-major places in all of x, as those in which the last spatial axis is the slowest.
Result column_major(NodeReader& node, NodeId places, const Ints& shape) {
  const auto number = [&](int64_t value) {
    return node.graph().add_constant({tensor::Element::kInt64, {}}, make_blob(Ints{value}), "number");
  };
  const auto binary = [&](BinaryKind kind, NodeId a, int64_t b) {
    return node.emit(Binary{kind}, {a, number(b)});
  };
  // Digits of the place, the last axis' first; what is left counts channels.
  NodeId rest = places;
  std::vector<NodeId> digits;
  int64_t map = 1;
  for (size_t d = shape.size(); d-- > 2;) {
    TF_ASSIGN_OR_RETURN(const NodeId above, binary(BinaryKind::kDiv, rest, shape[d]));
    TF_ASSIGN_OR_RETURN(const NodeId whole, binary(BinaryKind::kMul, above, shape[d]));
    TF_ASSIGN_OR_RETURN(digits.emplace_back(), node.emit(Binary{BinaryKind::kSub}, {rest, whole}));
    rest = above;
    map *= shape[d];
  }
  TF_ASSIGN_OR_RETURN(NodeId sum, binary(BinaryKind::kMul, rest, map));
  for (size_t d = shape.size(), i = 0; d-- > 2; ++i) {
    map /= shape[d];
    TF_ASSIGN_OR_RETURN(const NodeId part, binary(BinaryKind::kMul, digits[i], map));
    TF_ASSIGN_OR_RETURN(sum, node.emit(Binary{BinaryKind::kAdd}, {sum, part}));
  }
  return sum;
}

// The window with what ceil_mode adds.
absl::StatusOr<Window> rounded_window(NodeReader& node, NodeId x) {
  TF_ASSIGN_OR_RETURN(Window window, read_window(node, x, {}));
  TF_ASSIGN_OR_RETURN(const int64_t ceil_mode, node.int_attribute("ceil_mode", 0));
  if (ceil_mode != 0) round_up(node.graph().shape(x), window);
  return window;
}

Result emit_pool(NodeReader& node, PoolKind kind, const Window& window, bool include, NodeId x) {
  return node.emit(Pool{kind, window.kernel, window.strides, window.dilations, window.pads_begin,
                        window.pads_end, include},
                   {x});
}

Result max_pool(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const Window window, rounded_window(node, x));
  TF_ASSIGN_OR_RETURN(const int64_t order, node.int_attribute("storage_order", 0));
  if (node.has_output(1)) {
    TF_ASSIGN_OR_RETURN(NodeId places, emit_pool(node, PoolKind::kMaxIndex, window, false, x));
    if (order != 0) {
      TF_ASSIGN_OR_RETURN(places, column_major(node, places, node.graph().shape(x)));
    }
    node.set_output(1, places);
  }
  return emit_pool(node, PoolKind::kMax, window, false, x);
}

Result average_pool(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(const Window given, read_window(node, x, {}));
  TF_ASSIGN_OR_RETURN(const Window window, rounded_window(node, x));
  TF_ASSIGN_OR_RETURN(const int64_t include, node.int_attribute("count_include_pad", 0));
  if (include != 0 && window.pads_end != given.pads_end) return padded_average(node, x, given, window);
  return emit_pool(node, PoolKind::kAverage, window, include != 0, x);
}

// (Σ |x|^p)^(1/p), of which `sum` makes the sum.
template <typename Sum>
Result norm(NodeReader& node, const Sum& sum) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  const tensor::Element element = node.type(x).element;
  double p = 2;
  if (node.opset() < 2) {
    TF_ASSIGN_OR_RETURN(p, node.float_attribute("p", 2));
  } else {
    TF_ASSIGN_OR_RETURN(const int64_t whole, node.int_attribute("p", 2));
    p = static_cast<double>(whole);
  }
  if (!(p > 0)) return node.invalid(absl::StrCat("attribute 'p' is ", p));
  TF_ASSIGN_OR_RETURN(x, node.widened(x));
  const tensor::Element wide = node.type(x).element;
  NodeId power = x;
  if (p == 2) {
    TF_ASSIGN_OR_RETURN(power, node.emit(Binary{BinaryKind::kMul}, {x, x}));
  } else {
    TF_ASSIGN_OR_RETURN(power, node.emit(Unary{UnaryKind::kAbs}, {x}));
    if (p != 1) {
      TF_ASSIGN_OR_RETURN(power, node.emit(Binary{BinaryKind::kPow}, {power, node.scalar(p, wide)}));
    }
  }
  TF_ASSIGN_OR_RETURN(NodeId y, sum(power));
  if (p == 2) {
    TF_ASSIGN_OR_RETURN(y, node.emit(Unary{UnaryKind::kSqrt}, {y}));
  } else if (p != 1) {
    TF_ASSIGN_OR_RETURN(y, node.emit(Binary{BinaryKind::kPow}, {y, node.scalar(1 / p, wide)}));
  }
  return node.cast_to(element, y);
}

Result lp_pool(NodeReader& node) {
  return norm(node, [&](NodeId power) -> Result {
    TF_ASSIGN_OR_RETURN(const Window window, rounded_window(node, power));
    TF_ASSIGN_OR_RETURN(const NodeId mean, emit_pool(node, PoolKind::kAverage, window, true, power));
    double count = 1;
    for (int64_t extent : window.kernel) count *= static_cast<double>(extent);
    return node.emit(Binary{BinaryKind::kMul}, {mean, node.scalar(count, node.type(mean).element)});
  });
}

absl::StatusOr<Ints> spatial_axes(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  if (node.rank(x) < 3) return node.invalid("needs an input with spatial axes");
  Ints axes(node.rank(x) - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Result global_pool(NodeReader& node, ReduceKind kind) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(Ints axes, spatial_axes(node));
  return node.emit(Reduce{kind, std::move(axes), true}, {x});
}
Result global_average_pool(NodeReader& node) {
  return global_pool(node, ReduceKind::kMean);
}
Result global_max_pool(NodeReader& node) {
  return global_pool(node, ReduceKind::kMax);
}
Result global_lp_pool(NodeReader& node) {
  return norm(node, [&](NodeId power) -> Result {
    TF_ASSIGN_OR_RETURN(Ints axes, spatial_axes(node));
    return node.emit(Reduce{ReduceKind::kSum, std::move(axes), true}, {power});
  });
}

constexpr std::array kPoolingRules = {NamedRule{"AveragePool", average_pool},
                                      NamedRule{"GlobalAveragePool", global_average_pool},
                                      NamedRule{"GlobalLpPool", global_lp_pool},
                                      NamedRule{"GlobalMaxPool", global_max_pool},
                                      NamedRule{"LpPool", lp_pool},
                                      NamedRule{"MaxPool", max_pool}};

}  // namespace

std::span<const NamedRule> pooling_rules() {
  return kPoolingRules;
}

}  // namespace tf::onnx
