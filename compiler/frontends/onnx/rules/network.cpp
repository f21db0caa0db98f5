// Convolution, matrix products: ONNX's attributes turned into ours.
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

Result conv(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const std::optional<NodeId> of_integers, conv_of_dequantized(node));
  if (of_integers) return *of_integers;
  TF_ASSIGN_OR_RETURN(std::vector<NodeId> inputs, node.inputs());
  if (inputs.size() < 2) return node.invalid("needs an input and weights");
  const Ints weights = node.graph().shape(inputs[1]);
  if (weights.size() < 3) return node.invalid(absl::StrCat("weights ", to_string(node.type(inputs[1]))));
  TF_ASSIGN_OR_RETURN(Window window, read_window(node, inputs[0], Ints(weights.begin() + 2, weights.end())));
  Conv op{window.strides, window.dilations, window.pads_begin, window.pads_end, 1};
  TF_ASSIGN_OR_RETURN(op.groups, node.int_attribute("group", 1));
  return node.emit(std::move(op), std::move(inputs));
}

Result scaled(NodeReader& node, NodeId x, double factor) {
  if (factor == 1.0) return x;
  return node.emit(Binary{BinaryKind::kMul}, {x, node.scalar(factor, node.type(x).element)});
}

Result gemm(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId a, node.input(0));
  TF_ASSIGN_OR_RETURN(NodeId b, node.input(1));
  TF_ASSIGN_OR_RETURN(const double alpha, node.float_attribute("alpha", 1.0));
  TF_ASSIGN_OR_RETURN(const double beta, node.float_attribute("beta", 1.0));
  TF_ASSIGN_OR_RETURN(const int64_t transpose_a, node.int_attribute("transA", 0));
  TF_ASSIGN_OR_RETURN(const int64_t transpose_b, node.int_attribute("transB", 0));
  if (node.rank(a) != 2 || node.rank(b) != 2) return node.invalid("needs two matrices");
  const MatMul op{transpose_a != 0, transpose_b != 0};
  const tensor::Element element = node.type(a).element;
  TF_ASSIGN_OR_RETURN(const std::optional<NodeId> of_integers, matmul_of_dequantized(node, op));
  // A product of halves that is scaled down may not fit in a half before that.
  if (!of_integers && alpha != 1.0) {
    TF_ASSIGN_OR_RETURN(a, node.widened(a));
    TF_ASSIGN_OR_RETURN(b, node.widened(b));
  }
  TF_ASSIGN_OR_RETURN(NodeId y, of_integers ? Result(*of_integers) : node.emit(op, {a, b}));
  // Whole numbers are scaled as real ones.
  if (!tensor::is_float(node.type(y).element) && (alpha != 1.0 || beta != 1.0)) {
    TF_ASSIGN_OR_RETURN(y, node.cast_to(tensor::Element::kFloat64, y));
  }
  const Ints shape = node.graph().shape(y);
  TF_ASSIGN_OR_RETURN(y, scaled(node, y, alpha));
  if (!node.has(2)) return node.cast_to(element, y);
  TF_ASSIGN_OR_RETURN(NodeId c, node.input(2));
  if (node.type(c).element != element) return node.invalid("its operands have different element types");
  TF_ASSIGN_OR_RETURN(c, node.cast_to(node.type(y).element, c));
  TF_ASSIGN_OR_RETURN(c, scaled(node, c, beta));
  TF_ASSIGN_OR_RETURN(y, node.emit(Binary{BinaryKind::kAdd}, {y, c}));
  if (node.graph().shape(y) != shape)
    return node.invalid(
        absl::StrCat("its third operand, ", to_string(node.type(c)), ", does not fit the product"));
  return node.cast_to(element, y);
}

Result matmul(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const std::optional<NodeId> of_integers, matmul_of_dequantized(node, {}));
  if (of_integers) return *of_integers;
  TF_ASSIGN_OR_RETURN(NodeId a, node.input(0));
  TF_ASSIGN_OR_RETURN(NodeId b, node.input(1));
  // A vector is a matrix of one row (left) or one column (right), whose axis is dropped from the result.
  const bool row = node.rank(a) == 1, column = node.rank(b) == 1;
  if (row) {
    TF_ASSIGN_OR_RETURN(a, node.emit(Reshape{{tensor::imm(1), node.type(a).extents[0]}}, {a}));
  }
  if (column) {
    TF_ASSIGN_OR_RETURN(b, node.emit(Reshape{{node.type(b).extents[0], tensor::imm(1)}}, {b}));
  }
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(MatMul{}, {a, b}));
  if (!row && !column) return y;
  std::vector<tensor::Expr> extents = node.type(y).extents;
  if (row) extents.erase(extents.end() - 2);
  if (column) extents.pop_back();
  return node.emit(Reshape{std::move(extents)}, {y});
}

// Before operator set 13 softmax saw its operand as a matrix: all axes from `axis` on are one.
Result softmax_of_matrix(NodeReader& node, NodeId x, int64_t axis, bool log) {
  const std::vector<tensor::Expr> extents = node.type(x).extents;
  const Ints shape = node.graph().shape(x);
  if (std::all_of(shape.begin() + axis + 1, shape.end(), [](int64_t extent) { return extent == 1; }))
    return node.emit(Softmax{axis, log}, {x});
  const std::span<const tensor::Expr> all(extents);
  TF_ASSIGN_OR_RETURN(NodeId matrix,
                      node.emit(Reshape{{product(all.first(axis)), product(all.subspan(axis))}}, {x}));
  TF_ASSIGN_OR_RETURN(NodeId y, node.emit(Softmax{1, log}, {matrix}));
  return node.emit(Reshape{extents}, {y});
}

Result softmax(NodeReader& node, bool log) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  const bool flattens = node.opset() < 13;
  TF_ASSIGN_OR_RETURN(int64_t axis, node.int_attribute("axis", flattens ? 1 : -1));
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, node.rank(x)));
  return flattens ? softmax_of_matrix(node, x, axis, log) : node.emit(Softmax{axis, log}, {x});
}
Result plain_softmax(NodeReader& node) {
  return softmax(node, false);
}
Result log_softmax(NodeReader& node) {
  return softmax(node, true);
}

// Inference, which a ratio of 0 makes of training too: nothing is dropped, so the mask is true everywhere.
Result dropout(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(NodeId x, node.input(0));
  bool trains = false;
  if (node.has(2)) {
    TF_ASSIGN_OR_RETURN(const Ints training, node.constant_ints(2, "training mode"));
    trains = training.size() != 1 || training[0] != 0;
  }
  if (trains && node.has(1)) {
    TF_ASSIGN_OR_RETURN(const std::vector<double> ratio, node.constant_floats(1, "ratio"));
    trains = ratio.size() != 1 || ratio[0] != 0;
  }
  if (trains) return node.unsupported("training mode is not supported");
  if (node.has_output(1)) {
    const NodeId kept = node.scalar(1, node.opset() < 10 ? node.type(x).element : tensor::Element::kBool);
    TF_ASSIGN_OR_RETURN(const NodeId mask, node.emit(Expand{node.type(x).extents}, {kept}));
    node.set_output(1, mask);
  }
  return node.emit(Unary{UnaryKind::kIdentity}, {x});
}

constexpr std::array kNetworkRules = {NamedRule{"Conv", conv},     NamedRule{"Dropout", dropout},
                                      NamedRule{"Gemm", gemm},     NamedRule{"LogSoftmax", log_softmax},
                                      NamedRule{"MatMul", matmul}, NamedRule{"Softmax", plain_softmax}};

}  // namespace

std::span<const NamedRule> network_rules() {
  return kNetworkRules;
}

}  // namespace tf::onnx
