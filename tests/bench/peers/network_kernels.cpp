#include "tests/bench/peers/network_kernels.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/onnx/import.h"

namespace tf::peers {
namespace {

using graph::Graph;
using graph::NodeId;

// What follows bias and convolution in the same kernel.
bench::Activation activation_after(const Graph& network, const std::vector<std::vector<NodeId>>& users,
                                   NodeId node) {
  const std::vector<NodeId>& readers = users[static_cast<size_t>(index(node))];
  if (readers.size() != 1) return bench::Activation::kNone;
  const graph::Node& reader = network.node(readers[0]);
  if (const auto* unary = graph::as<graph::Unary>(reader))
    return unary->kind == graph::UnaryKind::kRelu ? bench::Activation::kRelu : bench::Activation::kNone;
  const auto* clip = graph::as<graph::Clip>(reader);
  return clip && clip->low == 0 && clip->high == 6 ? bench::Activation::kRelu6 : bench::Activation::kNone;
}

bool is_constant(const Graph& network, NodeId node) {
  return graph::as<graph::Constant>(network.node(node)) != nullptr;
}

std::optional<bench::Convolution> convolution_of(const Graph& network, const graph::Node& node,
                                                 bench::Activation activation) {
  const auto& op = std::get<graph::Conv>(node.op);
  const std::vector<int64_t> x = network.shape(node.inputs[0]), w = network.shape(node.inputs[1]);
  const auto all = [](const std::vector<int64_t>& values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [value](int64_t v) { return v == value; });
  };
  if (x.size() != 4 || x[0] != 1 || x[2] != x[3] || w[2] != w[3] || !all(op.dilations, 1))
    return std::nullopt;
  const int64_t stride = op.strides.empty() ? 1 : op.strides[0];
  const int64_t padding = op.pads_begin.empty() ? 0 : op.pads_begin[0];
  if (!all(op.strides, stride) || !all(op.pads_begin, padding) || !all(op.pads_end, padding) ||
      (padding != 0 && padding != w[2] / 2))
    return std::nullopt;
  return bench::Convolution{.channels = x[1],
                            .filters = w[0],
                            .extent = x[2],
                            .kernel = w[2],
                            .stride = stride,
                            .groups = op.groups,
                            .activation = activation,
                            .padded = padding == w[2] / 2};
}

std::optional<bench::Gemm> gemm_of(const Graph& network, const graph::Node& node) {
  const auto& op = std::get<graph::MatMul>(node.op);
  const std::vector<int64_t> a = network.shape(node.inputs[0]), b = network.shape(node.inputs[1]);
  const bool constant = is_constant(network, node.inputs[1]);
  // How a constant stands before it is packed makes no difference.
  if (a.size() < 2 || b.size() != 2 || op.transpose_a || (op.transpose_b && !constant)) return std::nullopt;
  int64_t rows = 1;
  for (size_t axis = 0; axis + 1 < a.size(); ++axis) rows *= a[axis];
  return bench::Gemm{rows, op.transpose_b ? b[0] : b[1], a.back(), constant};
}

std::string name_of(const std::string& network, const bench::Gemm& g) {
  return absl::StrCat(network, "_gemm_", g.m, "x", g.n, "x", g.k, g.constant_b ? "_constant" : "");
}

std::string name_of(const std::string& network, const bench::Convolution& c) {
  const char* activations[] = {"", "_relu", "_relu6"};
  return absl::StrCat(network,
                      c.is_depthwise() ? "_depthwise_"
                      : c.groups > 1   ? "_grouped_"
                                       : "_",
                      c.kernel, "x", c.kernel, "_", c.channels, "_", c.filters, "_", c.extent,
                      c.stride > 1 ? absl::StrCat("_s", c.stride) : "", c.padded ? "" : "_valid",
                      activations[static_cast<int>(c.activation)]);
}

}  // namespace

absl::StatusOr<std::vector<bench::Kernel>> network_kernels(const std::string& model_path) {
  TF_ASSIGN_OR_RETURN(Graph imported, onnx::import_model(model_path, {}));
  TF_ASSIGN_OR_RETURN(const graph::Program program, graph::plan_program(std::move(imported), {}));
  const Graph& network = program.graph;
  const std::string stem = std::filesystem::path(model_path).stem().string();
  const std::vector<std::vector<NodeId>> users = graph::users(network);
  std::vector<bench::Kernel> kernels;
  const auto take = [&](const graph::Node& node, const auto& shape) {
    if (!shape) {
      std::fprintf(stderr, "peers_bench: %s: left out %s\n", stem.c_str(), node.name.c_str());
      return;
    }
    const std::string name = name_of(stem, *shape);
    if (std::none_of(kernels.begin(), kernels.end(), [&](const bench::Kernel& k) { return k.name == name; }))
      kernels.push_back({name, *shape});
  };
  for (size_t i = 0; i < network.nodes.size(); ++i) {
    const graph::Node& node = network.nodes[i];
    const auto id = static_cast<NodeId>(i);
    if (graph::as<graph::MatMul>(node) != nullptr) take(node, gemm_of(network, node));
    if (graph::as<graph::Conv>(node) != nullptr)
      take(node, convolution_of(network, node, activation_after(network, users, id)));
  }
  return kernels;
}

}  // namespace tf::peers
