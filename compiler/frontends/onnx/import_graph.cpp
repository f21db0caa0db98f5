#include "compiler/frontends/onnx/import_graph.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <functional>
#include <set>

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
                     conv_transpose_rules(),
                     detection_rules(),
                     einsum_rules(),
                     loss_rules(),
                     microsoft_attention_rules(),
                     microsoft_few_bits_rules(),
                     microsoft_layer_rules(),
                     microsoft_product_rules(),
                     microsoft_quantized_rules(),
                     movement_rules(),
                     network_rules(),
                     ngram_rules(),
                     normalization_rules(),
                     padding_rules(),
                     pooling_rules(),
                     quantized_rules(),
                     random_rules(),
                     recurrent_rules(),
                     reduction_rules(),
                     resize_rules(),
                     sampling_rules(),
                     scan_rules(),
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

std::map<std::string, ListRule> all_list_rules() {
  std::map<std::string, ListRule> rules;
  for (auto table : {control_list_rules(), sequence_rules()})
    for (const NamedListRule& entry : table) rules.emplace(entry.op_type, entry.rule);
  return rules;
}

const std::map<std::string, ListRule>& list_rules() {
  static const std::map<std::string, ListRule> kRules = all_list_rules();
  return kRules;
}

bool has_rule(const std::string& name) {
  return rules().contains(name) || list_rules().contains(name);
}

// Of the operators with a rule of each kind: whether an operand is a list.
bool takes_list(const NodeReader& node) {
  for (int i = 0; i < node.input_count(); ++i)
    if (node.is_list(i)) return true;
  return false;
}

absl::Status add_initializer(const ::onnx::TensorProto& tensor, absl::StatusOr<graph::HostTensor> value,
                             ImportState& state) {
  if (!value.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("initializer '", printable(tensor.name()), "': ", value.status().message()));
  const NodeId id = state.graph.add_constant(graph::tensor_type(value->element, value->shape),
                                             std::move(value->data), printable(tensor.name()));
  if (is_four_bits(tensor.data_type())) state.four_bits.insert(id);
  state.values[tensor.name()] = id;
  return absl::OkStatus();
}

// Whether an operand is of int4 or uint4, which few operators take: those that only move elements, and some more.
absl::StatusOr<bool> moves_four_bits(const NodeProto& proto, const NodeReader& reader, ImportState& state) {
  bool are_there = false;
  for (const ImportState* at = &state; at; at = at->outer) are_there = are_there || !at->four_bits.empty();
  if (!are_there) return false;
  constexpr const char* kMoves[] = {"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  constexpr const char* kOthers[] = {"Cast", "DequantizeLinear", "QuantizeLinear", "Shape", "Size"};
  for (const std::string& name : proto.input()) {
    const std::optional<NodeId> id = name.empty() ? std::nullopt : state.find(name);
    if (!id || !reader.has_four_bits(*id)) continue;
    if (std::ranges::find(kMoves, proto.op_type()) != std::end(kMoves)) return true;
    if (std::ranges::find(kOthers, proto.op_type()) == std::end(kOthers))
      return reader.unsupported(absl::StrCat("of int4 and uint4 is not supported; ",
                                             absl::StrJoin(kMoves, ", "), ", ", absl::StrJoin(kOthers, ", "),
                                             " are"));
  }
  return false;
}

absl::Status import_node(const NodeProto& proto, ImportState& state) {
  NodeReader reader(proto, state);
  if (const std::string& domain = proto.domain();
      !domain.empty() && domain != "ai.onnx" && domain != "com.microsoft")
    return reader.unsupported(
        absl::StrCat("operators of domain '", printable(domain), "' are not supported"));
  const auto rule = rules().find(qualified_name(proto));
  const auto list_rule = list_rules().find(qualified_name(proto));
  if (rule == rules().end() && list_rule == list_rules().end())
    return reader.unsupported("this operator is not supported");
  if (proto.output_size() == 0) return reader.invalid("it has no output");
  if (const std::string mistake = attribute_mistake(proto, state.shared.opset); !mistake.empty())
    return reader.invalid(mistake);
  TF_ASSIGN_OR_RETURN(const bool moves, moves_four_bits(proto, reader, state));
  if (rule == rules().end() || (list_rule != list_rules().end() && takes_list(reader))) {
    TF_RETURN_IF_ERROR(list_rule->second(reader));
  } else {
    TF_ASSIGN_OR_RETURN(NodeId result, rule->second(reader));
    reader.set_output(0, result);
    if (moves) reader.set_four_bits(result);
  }
  for (int i = 0; i < proto.output_size(); ++i) {
    const std::string& output = proto.output(i);
    if (reader.has_output(i) && !state.values.contains(output) && !state.lists.contains(output))
      return reader.unsupported(
          absl::StrCat("its output ", i, ", '", printable(proto.output(i)), "', is not supported"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> outputs_of(const GraphProto& proto, ImportState& state) {
  std::vector<Value> outputs;
  for (const auto& output : proto.output()) {
    if (const std::optional<NodeId> found = state.find(output.name())) {
      outputs.emplace_back(*found);
    } else if (std::optional<ValueList> list = state.find_list(output.name())) {
      outputs.emplace_back(*std::move(list));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", printable(output.name()), "' is not produced by any node"));
    }
  }
  return outputs;
}

// Loops in loops could be unrolled without end.
absl::Status check_inner_graph(const GraphProto& proto, size_t given, ImportShared& shared) {
  constexpr int64_t kMostNodes = 1 << 20;
  shared.inner_nodes += 1 + proto.node_size();
  if (shared.inner_nodes > kMostNodes)
    return absl::ResourceExhaustedError("the graphs of branches and unrolled loops have too many nodes");
  if (static_cast<size_t>(proto.input_size()) == given) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("graph '", printable(proto.name()), "' has ",
                                                 proto.input_size(), " inputs, but ", given, " are given"));
}

// The names to which a graph gives values.
std::set<std::string> names_made(const GraphProto& proto) {
  std::set<std::string> names;
  for (const auto& input : proto.input()) names.insert(input.name());
  for (const auto& tensor : proto.initializer()) names.insert(tensor.name());
  for (const NodeProto& node : proto.node()) names.insert(node.output().begin(), node.output().end());
  return names;
}

// What the map has of these names, taken off it.
template <typename T>
std::map<std::string, T> taken(std::map<std::string, T>& from, const std::set<std::string>& names) {
  std::map<std::string, T> some;
  for (const std::string& name : names)
    if (auto node = from.extract(name)) some.insert(std::move(node));
  return some;
}

}  // namespace

ImportState::ImportState(ImportState& around) : shared(around.shared), outer(&around) {
  graph.dims = around.graph.dims;
  graph.binding = around.graph.binding;
}

std::optional<NodeId> ImportState::find(const std::string& name) {
  if (auto known = values.find(name); known != values.end()) return known->second;
  if (!outer || lists.contains(name)) return std::nullopt;
  const std::optional<NodeId> around = outer->find(name);
  if (!around) return std::nullopt;
  return values[name] = capture(*around, name);
}

std::optional<ValueList> ImportState::find_list(const std::string& name) {
  if (values.contains(name)) return std::nullopt;
  if (auto known = lists.find(name); known != lists.end()) return known->second;
  std::optional<ValueList> list = outer ? outer->find_list(name) : std::nullopt;
  if (!list) return std::nullopt;
  for (size_t i = 0; i < list->elements.size(); ++i)
    list->elements[i] = capture(list->elements[i], absl::StrCat(name, ".", i));
  return lists[name] = *std::move(list);
}

std::string ImportState::new_dimension_name(std::string_view name) const {
  std::string clean;
  for (const char c : name) clean += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (clean.empty() || std::isdigit(static_cast<unsigned char>(clean[0]))) clean.insert(0, "d_");
  while (graph.binding.contains(clean)) clean += '_';
  return clean;
}

NodeId ImportState::capture(NodeId around, const std::string& name) {
  const graph::Node& node = outer->graph.node(around);
  const auto* constant = graph::as<graph::Constant>(node);
  if (!constant) captured.push_back(around);
  const NodeId id = constant ? graph.add_constant(node.type, constant->data, node.name)
                             : graph.add_input(node.type, printable(name));
  if (outer->four_bits.contains(around)) four_bits.insert(id);
  return id;
}

namespace {

// Of a graph within a node, which may be imported again.
absl::Status import_nodes(const GraphProto& proto, ImportState& state) {
  TF_ASSIGN_OR_RETURN(const std::vector<const NodeProto*> nodes, ordered_nodes(proto));
  for (const ::onnx::TensorProto& tensor : proto.initializer()) {
    if (const auto known = state.initializers.find(&tensor); known != state.initializers.end()) {
      state.values[tensor.name()] = known->second;
      continue;
    }
    TF_RETURN_IF_ERROR(add_initializer(tensor, state.shared.tensor(tensor), state));
    state.initializers[&tensor] = state.values[tensor.name()];
  }
  for (const NodeProto* node : nodes) TF_RETURN_IF_ERROR(import_node(*node, state));
  return absl::OkStatus();
}

}  // namespace

absl::Status import_graph(GraphProto& proto, ImportState& state) {
  TF_ASSIGN_OR_RETURN(const std::vector<const NodeProto*> nodes, ordered_nodes(proto));
  for (::onnx::TensorProto& tensor : *proto.mutable_initializer())
    TF_RETURN_IF_ERROR(add_initializer(tensor, take_from_proto(tensor, state.shared.external), state));
  for (const NodeProto* node : nodes) TF_RETURN_IF_ERROR(import_node(*node, state));
  return absl::OkStatus();
}

absl::StatusOr<ImportedRegion> import_region(const GraphProto& proto, ImportState& around,
                                             const std::vector<RegionInput>& inputs) {
  TF_RETURN_IF_ERROR(check_inner_graph(proto, inputs.size(), around.shared));
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
  TF_ASSIGN_OR_RETURN(const std::vector<Value> outputs, outputs_of(proto, state));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* id = std::get_if<NodeId>(&outputs[i]);
    if (!id)
      return absl::UnimplementedError(
          absl::StrCat("output '", printable(proto.output(static_cast<int>(i)).name()), "' of graph '",
                       printable(proto.name()),
                       "' is a sequence or an optional, but how often the graph runs is not known"));
    state.graph.outputs.push_back({absl::StrCat("o", i), *id});
  }
  return ImportedRegion{std::move(state.graph), std::move(state.captured)};
}

absl::StatusOr<std::vector<Value>> import_inline(const GraphProto& proto, ImportState& state,
                                                 const std::vector<Value>& inputs) {
  TF_RETURN_IF_ERROR(check_inner_graph(proto, inputs.size(), state.shared));
  const std::set<std::string> names = names_made(proto);
  const auto values = taken(state.values, names);
  const auto lists = taken(state.lists, names);
  for (int i = 0; i < proto.input_size(); ++i) {
    const std::string& name = proto.input(i).name();
    const Value& input = inputs[static_cast<size_t>(i)];
    if (const auto* id = std::get_if<NodeId>(&input))
      state.values[name] = *id;
    else
      state.lists[name] = std::get<ValueList>(input);
  }
  TF_RETURN_IF_ERROR(import_nodes(proto, state));
  absl::StatusOr<std::vector<Value>> outputs = outputs_of(proto, state);
  taken(state.values, names);
  taken(state.lists, names);
  state.values.insert(values.begin(), values.end());
  state.lists.insert(lists.begin(), lists.end());
  return outputs;
}

namespace {

void count_operators_without_rules(const GraphProto& proto, std::map<std::string, int>& counts) {
  for (const NodeProto& node : proto.node()) {
    if (const std::string name = qualified_name(node); !has_rule(name)) ++counts[printable(name)];
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
  for (const auto& [name, rule] : list_rules())
    if (!rules().contains(name)) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

}  // namespace tf::onnx
