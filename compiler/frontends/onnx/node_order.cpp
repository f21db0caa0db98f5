#include "compiler/frontends/onnx/node_order.h"

#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace tf::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::NodeProto;

std::string described(const NodeProto& node) {
  const std::string name = !node.name().empty()     ? node.name()
                           : node.output_size() > 0 ? node.output(0)
                                                    : std::string();
  return absl::StrCat("node '", printable(name), "' (", printable(node.op_type()), ")");
}

// Names that the model's inputs and initializers have.
absl::StatusOr<std::set<std::string_view>> given_names(const GraphProto& graph) {
  std::set<std::string_view> inputs, names;
  for (const auto& input : graph.input()) {
    if (!inputs.insert(input.name()).second)
      return absl::InvalidArgumentError(
          absl::StrCat("two inputs are called '", printable(input.name()), "'"));
  }
  for (const auto& tensor : graph.initializer()) {
    if (!names.insert(tensor.name()).second)
      return absl::InvalidArgumentError(
          absl::StrCat("two initializers are called '", printable(tensor.name()), "'"));
  }
  names.insert(inputs.begin(), inputs.end());
  return names;
}

// Adds the names that the node and the graphs in its attributes read. Names that such a graph defines itself do no harm:
// no node of this graph writes them.
void add_read_names(const NodeProto& node, std::set<std::string>& names) {
  names.insert(node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    for (const NodeProto& inner : attribute.g().node()) add_read_names(inner, names);
    for (const auto& output : attribute.g().output()) names.insert(output.name());
  }
}

std::set<std::string> read_names(const NodeProto& node) {
  std::set<std::string> names;
  add_read_names(node, names);
  return names;
}

// By name, the index of the node that gives the value.
using Writers = std::map<std::string_view, int>;

absl::StatusOr<Writers> writers_of(const GraphProto& graph) {
  TF_ASSIGN_OR_RETURN(const std::set<std::string_view> given, given_names(graph));
  Writers writers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (output.empty()) continue;
      if (given.contains(output))
        return absl::InvalidArgumentError(absl::StrCat(described(graph.node(i)), ": its output '",
                                                       printable(output),
                                                       "' is also an input or an initializer of the model"));
      const auto [other, is_new] = writers.try_emplace(output, i);
      if (!is_new)
        return absl::InvalidArgumentError(absl::StrCat(described(graph.node(i)), ": its output '",
                                                       printable(output), "' is also one of ",
                                                       described(graph.node(other->second))));
    }
  }
  return writers;
}

}  // namespace

absl::StatusOr<std::vector<const NodeProto*>> ordered_nodes(const GraphProto& graph) {
  TF_ASSIGN_OR_RETURN(const Writers writers, writers_of(graph));
  const auto count = static_cast<size_t>(graph.node_size());
  std::vector<std::set<int>> readers(count);
  std::vector<int> waits_for(count);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : read_names(graph.node(i))) {
      const auto writer = writers.find(input);
      if (writer == writers.end() || !readers[static_cast<size_t>(writer->second)].insert(i).second) continue;
      ++waits_for[static_cast<size_t>(i)];
    }
  }
  std::set<int> ready;
  for (int i = 0; i < graph.node_size(); ++i)
    if (waits_for[static_cast<size_t>(i)] == 0) ready.insert(i);
  std::vector<const NodeProto*> ordered;
  while (!ready.empty()) {
    const int next = ready.extract(ready.begin()).value();
    ordered.push_back(&graph.node(next));
    for (int reader : readers[static_cast<size_t>(next)])
      if (--waits_for[static_cast<size_t>(reader)] == 0) ready.insert(reader);
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    if (waits_for[static_cast<size_t>(i)] > 0)
      return absl::InvalidArgumentError(
          absl::StrCat(described(graph.node(i)), ": it depends on its own result"));
  }
  return ordered;
}

}  // namespace tf::onnx
