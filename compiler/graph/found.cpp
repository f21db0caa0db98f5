#include "compiler/graph/found.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/graph/element_values.h"

namespace tf::graph {
namespace {

using Shape = std::vector<int64_t>;

int64_t product_of(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

int64_t most(const Graph& graph, const Node& node, const NonZero&) {
  return product_of(graph.shape(node.inputs[0]));
}

int64_t most(const Graph& graph, const Node& node, const Unique& op) {
  const Shape x = graph.shape(node.inputs[0]);
  return op.axis < 0 ? product_of(x) : x[static_cast<size_t>(op.axis)];
}

int64_t most(const Graph& graph, const Node& node, const NonMaxSuppression&) {
  const Shape scores = graph.shape(node.inputs[1]);
  int64_t of_class = scores[2];
  if (const auto* known = as<Constant>(graph.node(node.inputs[2]))) {
    const int64_t wanted = read_integers(tensor::Element::kInt64, known->data->bytes())[0];
    of_class = std::clamp(wanted, int64_t{0}, of_class);
  }
  return scores[0] * scores[1] * of_class;
}

}  // namespace

const tensor::VarNode* found_by(const Node& node) {
  return std::visit(
      []<typename O>(const O& op) -> const tensor::VarNode* {
        if constexpr (finds_elements<O>)
          return tensor::as<tensor::VarNode>(op.found);
        else
          return nullptr;
      },
      node.op);
}

int64_t most_found(const Graph& graph, const Node& node) {
  return std::visit(
      [&]<typename O>(const O& op) -> int64_t {
        if constexpr (finds_elements<O>)
          return most(graph, node, op);
        else
          return 0;
      },
      node.op);
}

std::vector<tensor::Dimension> found_dims(const Graph& graph) {
  std::vector<tensor::Dimension> dims;
  for (const Node& node : graph.nodes) {
    const tensor::VarNode* found = found_by(node);
    if (!found) continue;
    const auto declared = std::ranges::find_if(
        graph.dims, [&](const tensor::Dimension& dim) { return dim.var->name == found->name; });
    dims.push_back({declared->var, 0, most_found(graph, node)});
  }
  return dims;
}

absl::Status check_sizes_are_known(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (const tensor::VarNode* found = found_by(node))
      return absl::UnimplementedError(absl::StrCat(
          "the size of '", found->name, "' depends on data, but the network is known at one size"));
  return absl::OkStatus();
}

std::vector<bool> depends_on_found(const Graph& graph) {
  std::vector<bool> depends(graph.nodes.size());
  bool finds = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    finds = finds || found_by(graph.nodes[i]) != nullptr;
    // A constant may be expanded to as many elements as were found.
    depends[i] = found_by(graph.nodes[i]) != nullptr || (finds && as<Expand>(graph.nodes[i]) != nullptr);
    for (const NodeId input : graph.nodes[i].inputs) depends[i] = depends[i] || depends[index(input)];
  }
  return depends;
}

}  // namespace tf::graph
