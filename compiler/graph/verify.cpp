#include "compiler/graph/verify.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/graph/infer.h"

namespace tf::graph {
namespace {

absl::Status verify_constant(const Graph& graph, const Node& node, const Constant& constant) {
  if (!constant.data) return absl::InvalidArgumentError("a constant without data");
  TF_ASSIGN_OR_RETURN(int64_t elements, element_count(graph.shape(node.type)));
  const int64_t want = elements * tensor::element_bytes(node.type.element);
  const int64_t have = static_cast<int64_t>(constant.data->bytes().size());
  if (have == want) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a constant ", to_string(node.type), " of ", have, " bytes, not ", want));
}

absl::Status verify_node(const Graph& graph, int place) {
  const Node& node = graph.nodes[place];
  for (NodeId input : node.inputs) {
    if (index(input) < 0 || index(input) >= place) return absl::InvalidArgumentError("reads a later node");
  }
  if (as<Input>(node)) return element_count(graph.shape(node.type)).status();
  if (auto* constant = as<Constant>(node)) return verify_constant(graph, node, *constant);
  for (const Region& region : regions(node.op))
    if (region) TF_RETURN_IF_ERROR(verify(*region));
  TF_ASSIGN_OR_RETURN(const std::vector<TensorType> types, infer_types(graph, node.op, node.inputs));
  if (types.size() != node.more_types.size() + 1)
    return absl::InvalidArgumentError(
        absl::StrCat("is declared with ", node.more_types.size() + 1, " results, but has ", types.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorType& declared = i == 0 ? node.type : node.more_types[i - 1];
    if (types[i].element != declared.element || graph.shape(types[i]) != graph.shape(declared))
      return absl::InvalidArgumentError(
          absl::StrCat("is declared as ", to_string(declared), ", but is ", to_string(types[i])));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status verify(const Graph& graph) {
  for (const tensor::Dimension& dim : graph.dims) {
    auto bound = graph.binding.find(dim.var->name);
    if (bound == graph.binding.end())
      return absl::InvalidArgumentError(absl::StrCat("dimension ", dim.var->name, " has no value"));
    if (bound->second < dim.low || bound->second > dim.high)
      return absl::InvalidArgumentError(absl::StrCat("dimension ", dim.var->name, " = ", bound->second,
                                                     " is outside [", dim.low, ", ", dim.high, "]"));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (absl::Status status = verify_node(graph, static_cast<int>(i)); !status.ok())
      return absl::Status(status.code(), absl::StrCat("node n", i, " '", graph.nodes[i].name, "' (",
                                                      op_name(graph.nodes[i].op), "): ", status.message()));
  }
  if (graph.outputs.empty()) return absl::InvalidArgumentError("the graph has no output");
  std::set<std::string> names;
  for (const Output& output : graph.outputs) {
    if (index(output.node) < 0 || index(output.node) >= static_cast<int>(graph.nodes.size()))
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name, "' is not a node of the graph"));
    if (!names.insert(output.name).second)
      return absl::InvalidArgumentError(absl::StrCat("two outputs are called '", output.name, "'"));
  }
  return absl::OkStatus();
}

}  // namespace tf::graph
