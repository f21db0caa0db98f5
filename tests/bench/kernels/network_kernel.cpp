#include "tests/bench/kernels/network_kernel.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"

namespace tf::bench {
namespace {

using graph::as;
using graph::Node;
using graph::NodeId;

template <typename Operator>
int64_t count_of(const NetworkKernel& kernel) {
  return std::count_if(kernel.group.nodes.begin(), kernel.group.nodes.end(),
                       [&](NodeId id) { return as<Operator>(kernel.network->node(id)) != nullptr; });
}

bool is_depthwise(const NetworkKernel& kernel, const Node& node) {
  const int64_t groups = std::get<graph::Conv>(node.op).groups;
  return groups > 1 && groups == kernel.network->shape(node.inputs[0])[1];
}

std::string extents_text(const std::vector<int64_t>& extents) {
  return absl::StrJoin(extents, "x");
}

// 56, or 56x28.
std::string spatial_text(const std::vector<int64_t>& shape) {
  std::vector<int64_t> spatial(shape.begin() + 2, shape.end());
  if (std::all_of(spatial.begin(), spatial.end(), [&](int64_t extent) { return extent == spatial[0]; }))
    spatial.resize(1);
  return extents_text(spatial);
}

std::string stride_text(const std::vector<int64_t>& strides) {
  return strides.empty() || strides[0] == 1 ? "" : absl::StrCat("_s", strides[0]);
}

std::string padding_text(const std::vector<int64_t>& kernel, const std::vector<int64_t>& pads) {
  return kernel[0] > 1 && (pads.empty() || pads[0] == 0) ? "_valid" : "";
}

// The element-wise nodes after the operator that gives the kernel its name; erf is a part of GELU only.
std::string finish_text(const NetworkKernel& kernel, const Node& main) {
  std::string text;
  bool after = false;
  for (const NodeId id : kernel.group.nodes) {
    const Node& node = kernel.network->node(id);
    if (const auto* unary = as<graph::Unary>(node); unary && unary->kind == graph::UnaryKind::kErf)
      return "_add_gelu";
    if (after && graph::is_elementwise(node.op)) absl::StrAppend(&text, "_", graph::op_name(node.op));
    after = after || &node == &main;
  }
  return text;
}

std::string conv_name(const NetworkKernel& kernel, const Node& node) {
  const auto& op = std::get<graph::Conv>(node.op);
  const std::vector<int64_t> x = kernel.network->shape(node.inputs[0]),
                             w = kernel.network->shape(node.inputs[1]);
  const std::vector<int64_t> taps(w.begin() + 2, w.end());
  return absl::StrCat(is_depthwise(kernel, node) ? "depthwise_"
                      : op.groups > 1            ? "grouped_"
                                                 : "",
                      extents_text(taps), "_", x[1], "_", w[0], "_", spatial_text(x), stride_text(op.strides),
                      padding_text(taps, op.pads_begin), finish_text(kernel, node));
}

std::string gemm_name(const NetworkKernel& kernel, const Node& node) {
  const std::vector<int64_t> a = kernel.network->shape(node.inputs[0]), y = kernel.network->shape(node.type);
  int64_t rows = 1;
  for (size_t axis = 0; axis + 1 < y.size(); ++axis) rows *= y[axis];
  const int64_t depth = std::get<graph::MatMul>(node.op).transpose_a ? a[a.size() - 2] : a.back();
  return absl::StrCat("gemm_", rows, "x", y.back(), "x", depth, finish_text(kernel, node));
}

std::string pool_name(const NetworkKernel& kernel, const Node& node) {
  const auto& op = std::get<graph::Pool>(node.op);
  const std::vector<int64_t> x = kernel.network->shape(node.inputs[0]);
  return absl::StrCat(graph::op_name(node.op), "_", extents_text(op.kernel), stride_text(op.strides), "_",
                      x[1], "_", spatial_text(x), padding_text(op.kernel, op.pads_begin));
}

}  // namespace

std::string name_of(Family family) {
  switch (family) {
    case Family::kMatrixProduct:
      return "matrix products";
    case Family::kAttention:
      return "attention";
    case Family::kConvolution:
      return "convolutions";
    case Family::kDepthwise:
      return "depthwise convolutions";
    case Family::kPool:
      return "pools";
    case Family::kReduction:
      return "reductions";
    case Family::kNormalization:
      return "normalizations";
    case Family::kSoftmax:
      return "softmax";
    case Family::kElementwise:
      return "element-wise chains";
    case Family::kMovement:
      return "movement";
  }
  TF_UNREACHABLE() << "no family " << static_cast<int>(family);
}

Family family_of(const NetworkKernel& kernel) {
  const int64_t products = count_of<graph::MatMul>(kernel);
  if (products > 0) return products > 1 ? Family::kAttention : Family::kMatrixProduct;
  if (const Node* conv = kernel.find<graph::Conv>())
    return is_depthwise(kernel, *conv) ? Family::kDepthwise : Family::kConvolution;
  if (kernel.find<graph::Pool>() != nullptr) return Family::kPool;
  if (kernel.find<graph::Softmax>() != nullptr) return Family::kSoftmax;
  const int64_t reductions = count_of<graph::Reduce>(kernel);
  if (reductions > 1 || kernel.find<graph::Lrn>() != nullptr) return Family::kNormalization;
  if (reductions == 1) return Family::kReduction;
  const bool computes = std::any_of(kernel.group.nodes.begin(), kernel.group.nodes.end(), [&](NodeId id) {
    return graph::is_elementwise(kernel.network->node(id).op);
  });
  return computes ? Family::kElementwise : Family::kMovement;
}

std::string shape_name(const NetworkKernel& kernel) {
  const Family family = family_of(kernel);
  if (family == Family::kMatrixProduct) return gemm_name(kernel, *kernel.find<graph::MatMul>());
  if (family == Family::kConvolution || family == Family::kDepthwise)
    return conv_name(kernel, *kernel.find<graph::Conv>());
  if (family == Family::kPool) return pool_name(kernel, *kernel.find<graph::Pool>());
  const std::vector<std::string> parts = absl::StrSplit(kernel.task.label, ' ');  // operators, extents
  std::string operators = absl::StrJoin(std::vector<std::string>(absl::StrSplit(parts[0], '+')), "_");
  if (family == Family::kAttention) operators = "attention";
  if (family == Family::kNormalization && kernel.find<graph::Lrn>() == nullptr) operators = "layer_norm";
  return absl::StrCat(operators, "_", parts[1]);
}

}  // namespace tf::bench
