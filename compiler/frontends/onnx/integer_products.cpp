#include "compiler/frontends/onnx/integer_products.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/frontends/onnx/quantization.h"
#include "compiler/frontends/onnx/window.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Result = absl::StatusOr<NodeId>;
using tensor::Element;

namespace {

NodeId integers(NodeReader& node, Element element, const std::vector<int64_t>& shape, const Ints& values) {
  return node.graph().add_constant(tensor_type(element, shape),
                                   std::make_shared<const Blob>(write_integers(element, values)),
                                   node.name());
}

// b without its zero point: as bytes where it is known and fits, else as i32.
Result without_zero(NodeReader& node, const Factors& f) {
  if (all_zero(node, f.b_zero)) return f.b;
  const std::optional<Ints> zero = known_integers(node, *f.b_zero);
  std::optional<Ints> values = zero ? known_integers(node, f.b) : std::nullopt;
  const Ints shape = node.graph().shape(f.b);
  if (values) {
    int64_t inner = 1;
    for (size_t d = static_cast<size_t>(f.b_axis) + 1; d < shape.size(); ++d) inner *= shape[d];
    const auto count = static_cast<int64_t>(zero->size());
    if (count != 1 && count != shape[static_cast<size_t>(f.b_axis)])
      return node.invalid(absl::StrCat(count, " zero points for ", to_string(node.type(f.b))));
    for (size_t i = 0; i < values->size(); ++i)
      (*values)[i] -= (*zero)[static_cast<size_t>(static_cast<int64_t>(i) / inner % count)];
    const auto [low, high] =
        values->empty() ? std::ranges::min_max_result<int64_t>{0, 0} : std::ranges::minmax(*values);
    const Element element = low >= -128 && high <= 127 ? Element::kInt8
                            : low >= 0 && high <= 255  ? Element::kUInt8
                                                       : Element::kInt32;
    return integers(node, element, shape, *values);
  }
  TF_ASSIGN_OR_RETURN(NodeId b, node.cast_to(Element::kInt32, f.b));
  TF_ASSIGN_OR_RETURN(NodeId shift, node.cast_to(Element::kInt32, *f.b_zero));
  TF_ASSIGN_OR_RETURN(shift, along(node, shift, node.rank(b), f.b_axis));
  return binary(node, BinaryKind::kSub, b, shift);
}

Result sum_of_weights(NodeReader& node, NodeId b, const Ints& axes) {
  TF_ASSIGN_OR_RETURN(NodeId wide, node.cast_to(Element::kInt32, b));
  return node.emit(Reduce{ReduceKind::kSum, axes, true}, {wide});
}

// sum - zero * weights
Result corrected(NodeReader& node, NodeId sum, NodeId zero, NodeId weights) {
  TF_ASSIGN_OR_RETURN(zero, node.cast_to(Element::kInt32, zero));
  TF_ASSIGN_OR_RETURN(const NodeId moved, binary(node, BinaryKind::kMul, weights, zero));
  return binary(node, BinaryKind::kSub, sum, moved);
}

// Both factors as i32, without their zero points: for what bytes cannot hold.
absl::StatusOr<std::pair<NodeId, NodeId>> widened(NodeReader& node, const Factors& f, NodeId b) {
  TF_ASSIGN_OR_RETURN(NodeId a, node.cast_to(Element::kInt32, f.a));
  if (!all_zero(node, f.a_zero)) {
    TF_ASSIGN_OR_RETURN(NodeId zero, node.cast_to(Element::kInt32, *f.a_zero));
    TF_ASSIGN_OR_RETURN(a, binary(node, BinaryKind::kSub, a, zero));
  }
  TF_ASSIGN_OR_RETURN(b, node.cast_to(Element::kInt32, b));
  return std::pair(a, b);
}

}  // namespace

Result matmul_of(NodeReader& node, Factors f, const MatMul& op) {
  if (node.rank(f.a) < 2 || node.rank(f.b) < 2)
    return node.unsupported("operands of rank 1 are not supported");
  const int64_t terms = node.rank(f.b) - (op.transpose_b ? 1 : 2);
  f.b_axis = node.rank(f.b) - (op.transpose_b ? 2 : 1);
  if (f.a_zero) {
    TF_ASSIGN_OR_RETURN(f.a_zero, along(node, *f.a_zero, node.rank(f.a), node.rank(f.a) - 2));
  }
  TF_ASSIGN_OR_RETURN(NodeId b, without_zero(node, f));
  if (!is_byte(node.type(b).element)) {
    TF_ASSIGN_OR_RETURN(const auto both, widened(node, f, b));
    return node.emit(op, {both.first, both.second});
  }
  TF_ASSIGN_OR_RETURN(NodeId sum, node.emit(op, {f.a, b}));
  if (all_zero(node, f.a_zero)) return sum;
  TF_ASSIGN_OR_RETURN(NodeId weights, sum_of_weights(node, b, {terms}));
  if (op.transpose_b) {  // a column, which is to be a row
    std::vector<tensor::Expr> extents = node.type(weights).extents;
    std::swap(extents[extents.size() - 2], extents.back());
    TF_ASSIGN_OR_RETURN(weights, node.emit(Reshape{std::move(extents)}, {weights}));
  }
  return corrected(node, sum, *f.a_zero, weights);
}

Result conv_of(NodeReader& node, const Factors& f) {
  const Ints shape = node.graph().shape(f.b);
  if (shape.size() < 3) return node.invalid(absl::StrCat("weights ", to_string(node.type(f.b))));
  TF_ASSIGN_OR_RETURN(const Window window, read_window(node, f.a, Ints(shape.begin() + 2, shape.end())));
  Conv op{window.strides, window.dilations, window.pads_begin, window.pads_end, 1};
  TF_ASSIGN_OR_RETURN(op.groups, node.int_attribute("group", 1));
  TF_ASSIGN_OR_RETURN(NodeId b, without_zero(node, f));
  const std::optional<Ints> zero = f.a_zero ? known_integers(node, *f.a_zero) : std::optional(Ints{0});
  if (!is_byte(node.type(b).element) || !zero || zero->size() != 1) {
    TF_ASSIGN_OR_RETURN(const auto both, widened(node, f, b));
    return node.emit(op, {both.first, both.second});
  }
  NodeId a = f.a;
  const auto pads = [](const Ints& list) {
    return std::ranges::any_of(list, [](int64_t p) { return p != 0; });
  };
  if ((*zero)[0] != 0 && (pads(op.pads_begin) || pads(op.pads_end))) {
    Pad pad{{0, 0}, {0, 0}, static_cast<double>((*zero)[0])};
    pad.begin.insert(pad.begin.end(), op.pads_begin.begin(), op.pads_begin.end());
    pad.end.insert(pad.end.end(), op.pads_end.begin(), op.pads_end.end());
    TF_ASSIGN_OR_RETURN(a, node.emit(pad, {a}));
    op.pads_begin.assign(op.pads_begin.size(), 0);
    op.pads_end.assign(op.pads_end.size(), 0);
  }
  TF_ASSIGN_OR_RETURN(NodeId sum, node.emit(op, {a, b}));
  if ((*zero)[0] == 0) return sum;
  Ints axes;
  for (int64_t d = 1; d < static_cast<int64_t>(shape.size()); ++d) axes.push_back(d);
  TF_ASSIGN_OR_RETURN(NodeId weights, sum_of_weights(node, b, axes));
  std::vector<tensor::Expr> extents(shape.size(), tensor::imm(1));
  extents[1] = tensor::imm(shape[0]);
  TF_ASSIGN_OR_RETURN(weights, node.emit(Reshape{std::move(extents)}, {weights}));
  return corrected(node, sum, node.scalar(static_cast<double>((*zero)[0]), Element::kInt32), weights);
}

}  // namespace tf::onnx
