#include "compiler/graph/passes/fold_host.h"

#include "compiler/graph/program/host_calls.h"

namespace tf::graph {
namespace {

bool is_folded(const Op& op) {
  return std::visit(
      []<typename O>(const O&) {
        return is_host_operator<O> && !finds_elements<O> && !std::is_same_v<O, TopK> &&
               !std::is_same_v<O, Random> && !std::is_same_v<O, Bernoulli> && !std::is_same_v<O, Multinomial>;
      },
      op);
}

}  // namespace

BlobRef fold_host(const Graph& graph, const Op& op, std::span<const NodeId> inputs,
                  const TensorType& result) {
  if (!is_folded(op)) return nullptr;
  const absl::StatusOr<int64_t> count = element_count(graph.shape(result));
  if (!count.ok()) return nullptr;
  const Node node{"", op, {inputs.begin(), inputs.end()}, result, {}};
  const HostCall call = host_call(node);
  std::vector<std::string> buffers;
  for (NodeId input : inputs) buffers.emplace_back(as<Constant>(graph.node(input))->data->bytes());
  buffers.emplace_back(static_cast<size_t>(*count * tensor::element_bytes(result.element)), '\0');
  if (!run_host_function(call, host_numbers(call, graph, node), buffers).ok()) return nullptr;
  return std::make_shared<const Blob>(std::move(buffers.back()));
}

}  // namespace tf::graph
