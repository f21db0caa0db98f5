#include "compiler/graph/program/host_calls.h"

#include <map>
#include <string_view>

#include "base/check.h"
#include "compiler/runtime/host/functions.h"

namespace tf::graph {
namespace {

void append_type(std::vector<int64_t>& numbers, const Graph& graph, const TensorType& type) {
  numbers.push_back(static_cast<int64_t>(type.element) +
                    1);  // TF_ELEMENT_*; driver/element_number.h checks that
  numbers.push_back(type.rank());
  for (int64_t extent : graph.shape(type)) numbers.push_back(extent);
}

}  // namespace

HostCall host_call(const Node& node) {
  if (const auto* top = as<TopK>(node)) return {"tf_host_topk", {top->axis, top->largest ? 1 : 0}};
  TF_UNREACHABLE() << "no host function computes " << op_name(node.op);
}

std::vector<int64_t> host_numbers(const HostCall& call, const Graph& graph, const Node& node) {
  std::vector<int64_t> numbers = {static_cast<int64_t>(call.attributes.size())};
  numbers.insert(numbers.end(), call.attributes.begin(), call.attributes.end());
  for (NodeId operand : node.inputs) append_type(numbers, graph, graph.type(operand));
  append_type(numbers, graph, node.type);
  for (const TensorType& type : node.more_types) append_type(numbers, graph, type);
  return numbers;
}

namespace {

struct HostFunction {
  tf_kernel run;
  tf_host_workspace (*workspace)(const int64_t* dims);  // null: it needs none
};

const HostFunction& find(std::string_view name) {
  static const std::map<std::string_view, HostFunction> kAll = {
      {"tf_host_topk", {tf_host_topk, tf_host_topk_workspace}}};
  const auto found = kAll.find(name);
  TF_CHECK(found != kAll.end()) << "there is no host function " << name;
  return found->second;
}

}  // namespace

tf_kernel host_function(std::string_view name) {
  return find(name).run;
}

tf_host_workspace host_workspace(std::string_view name, const std::vector<int64_t>& numbers) {
  const HostFunction& function = find(name);
  return function.workspace ? function.workspace(numbers.data()) : tf_host_workspace{0, 0};
}

}  // namespace tf::graph
