#include "compiler/frontends/onnx/import_graph.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/frontends/onnx/attributes.h"
#include "compiler/frontends/onnx/node_order.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/passes/rewrite.h"

namespace tf::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::NodeProto;

std::map<std::string, Rule> all_rules() {
  std::map<std::string, Rule> rules;
  for (auto table : {accumulation_rules(),
                     activation_rules(),
                     arithmetic_rules(),
                     attention_rules(),
                     bit_rules(),
                     constant_rules(),
                     control_rules(),
                     conv_transpose_rules(),
                     detection_rules(),
                     einsum_rules(),
                     loss_rules(),
                     microsoft_attention_rules(),
                     microsoft_layer_rules(),
                     microsoft_product_rules(),
                     microsoft_quantized_rules(),
                     movement_rules(),
                     network_rules(),
                     normalization_rules(),
                     padding_rules(),
                     pooling_rules(),
                     quantized_rules(),
                     random_rules(),
                     recurrent_rules(),
                     reduction_rules(),
                     resize_rules(),
                     sampling_rules(),
                     scatter_rules(),
                     selection_rules(),
                     shape_rules(),
                     signal_rules(),
                     trigonometry_rules()})
    for (const NamedRule& entry : table) rules.emplace(entry.op_type, entry.rule);
  return rules;
}

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> kRules = all_rules();
  return kRules;
}

absl::Status import_initializers(const GraphProto& proto, ImportState& state) {
  for (const ::onnx::TensorProto& tensor : proto.initializer()) {
    absl::StatusOr<graph::HostTensor> value = from_proto(tensor, state.shared.external);
    if (!value.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("initializer '", printable(tensor.name()), "': ", value.status().message()));
    state.values[tensor.name()] = state.graph.add_constant(graph::tensor_type(value->element, value->shape),
                                                           std::move(value->data), printable(tensor.name()));
  }
  return absl::OkStatus();
}

absl::Status import_node(const NodeProto& proto, ImportState& state) {
  NodeReader reader(proto, state);
  if (const std::string& domain = proto.domain();
      !domain.empty() && domain != "ai.onnx" && domain != "com.microsoft")
    return reader.unsupported(
        absl::StrCat("operators of domain '", printable(domain), "' are not supported"));
  auto rule = rules().find(qualified_name(proto));
  if (rule == rules().end()) return reader.unsupported("this operator is not supported");
  if (proto.output_size() == 0) return reader.invalid("it has no output");
  if (const std::string mistake = attribute_mistake(proto, state.shared.opset); !mistake.empty())
    return reader.invalid(mistake);
  TF_ASSIGN_OR_RETURN(NodeId result, rule->second(reader));
  reader.set_output(0, result);
  for (int i = 0; i < proto.output_size(); ++i) {
    if (reader.has_output(i) && !state.values.contains(proto.output(i)))
      return reader.unsupported(
          absl::StrCat("its output ", i, ", '", printable(proto.output(i)), "', is not supported"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NodeId>> outputs_of(const GraphProto& proto, ImportState& state) {
  std::vector<NodeId> outputs;
  for (const auto& output : proto.output()) {
    const std::optional<NodeId> found = state.find(output.name());
    if (!found)
      return absl::InvalidArgumentError(
          absl::StrCat("output '", printable(output.name()), "' is not produced by any node"));
    outputs.push_back(*found);
  }
  return outputs;
}

absl::Status check_input_count(const GraphProto& proto, size_t given) {
  if (static_cast<size_t>(proto.input_size()) == given) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("graph '", printable(proto.name()), "' has ",
                                                 proto.input_size(), " inputs, but ", given, " are given"));
}

}  // namespace

ImportState::ImportState(ImportState& around) : shared(around.shared), outer(&around) {
  graph.dims = around.graph.dims;
  graph.binding = around.graph.binding;
}

std::optional<NodeId> ImportState::find(const std::string& name) {
  if (auto known = values.find(name); known != values.end()) return known->second;
  if (!outer) return std::nullopt;
  const std::optional<NodeId> around = outer->find(name);
  if (!around) return std::nullopt;
  const graph::Node& node = outer->graph.node(*around);
  if (const auto* constant = graph::as<graph::Constant>(node))
    return values[name] = graph.add_constant(node.type, constant->data, node.name);
  captured.push_back(*around);
  return values[name] = graph.add_input(node.type, printable(name));
}

absl::Status import_nodes(const GraphProto& proto, ImportState& state) {
  TF_ASSIGN_OR_RETURN(const std::vector<const NodeProto*> nodes, ordered_nodes(proto));
  TF_RETURN_IF_ERROR(import_initializers(proto, state));
  for (const NodeProto* node : nodes) TF_RETURN_IF_ERROR(import_node(*node, state));
  return absl::OkStatus();
}

absl::StatusOr<ImportedRegion> import_region(const GraphProto& proto, ImportState& around,
                                             const std::vector<RegionInput>& inputs) {
  TF_RETURN_IF_ERROR(check_input_count(proto, inputs.size()));
  ImportState state(around);
  state.graph.name = printable(proto.name());
  for (int i = 0; i < proto.input_size(); ++i) {
    const RegionInput& input = inputs[static_cast<size_t>(i)];
    const std::string name = printable(proto.input(i).name());
    state.values[proto.input(i).name()] = input.constant
                                              ? state.graph.add_constant(input.type, input.constant, name)
                                              : state.graph.add_input(input.type, name);
  }
  TF_RETURN_IF_ERROR(import_nodes(proto, state));
  TF_ASSIGN_OR_RETURN(const std::vector<NodeId> outputs, outputs_of(proto, state));
  for (size_t i = 0; i < outputs.size(); ++i)
    state.graph.outputs.push_back({absl::StrCat("o", i), outputs[i]});
  return ImportedRegion{std::move(state.graph), std::move(state.captured)};
}

absl::StatusOr<std::vector<NodeId>> import_inline(const GraphProto& proto, ImportState& state,
                                                  const std::vector<NodeId>& inputs) {
  TF_RETURN_IF_ERROR(check_input_count(proto, inputs.size()));
  const std::map<std::string, NodeId> around = state.values;
  for (int i = 0; i < proto.input_size(); ++i)
    state.values[proto.input(i).name()] = inputs[static_cast<size_t>(i)];
  TF_RETURN_IF_ERROR(import_nodes(proto, state));
  absl::StatusOr<std::vector<NodeId>> outputs = outputs_of(proto, state);
  state.values = around;
  return outputs;
}

namespace {

void count_operators_without_rules(const GraphProto& proto, std::map<std::string, int>& counts) {
  for (const NodeProto& node : proto.node()) {
    if (const std::string name = qualified_name(node); !rules().contains(name)) ++counts[printable(name)];
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) count_operators_without_rules(attribute.g(), counts);
  }
}

}  // namespace

std::string operators_without_rules(const GraphProto& proto) {
  std::map<std::string, int> counts;
  count_operators_without_rules(proto, counts);
  std::vector<std::pair<std::string, int>> all(counts.begin(), counts.end());
  std::ranges::stable_sort(all, std::greater(), &std::pair<std::string, int>::second);
  return absl::StrJoin(all, ", ", [](std::string* text, const auto& entry) {
    absl::StrAppend(text, entry.first);
    if (entry.second > 1) absl::StrAppend(text, " (", entry.second, " nodes)");
  });
}

std::vector<std::string> operators_with_rules() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : rules()) names.push_back(name);
  return names;
}

}  // namespace tf::onnx
