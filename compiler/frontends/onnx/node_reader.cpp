#include "compiler/frontends/onnx/node_reader.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/frontends/onnx/import_graph.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/element_values.h"
#include "compiler/graph/found.h"
#include "compiler/graph/passes/fold.h"

namespace tf::onnx {
namespace {

using graph::Constant;
using ::onnx::AttributeProto;

// Larger results are left to the constant-folding pass: the same bytes might be needed only in a folded form.
constexpr int64_t kFoldAtOnce = 4096;
constexpr int64_t kMostFound = int64_t{1} << 46;  // as many elements as a tensor can have

}  // namespace

absl::StatusOr<graph::HostTensor> ImportShared::tensor(const ::onnx::TensorProto& proto) {
  if (const auto known = tensors.find(&proto); known != tensors.end()) return known->second;
  TF_ASSIGN_OR_RETURN(graph::HostTensor value, from_proto(proto, external));
  return tensors[&proto] = std::move(value);
}

std::string NodeReader::name() const {
  if (!node_.name().empty()) return printable(node_.name());
  return node_.output_size() > 0 ? printable(node_.output(0)) : "";
}

std::string NodeReader::op_type() const {
  return printable(node_.op_type());
}

int NodeReader::input_count() const {
  return node_.input_size();
}
int NodeReader::output_count() const {
  return node_.output_size();
}
bool NodeReader::has(int i) const {
  return i < node_.input_size() && !node_.input(i).empty();
}
bool NodeReader::has_output(int i) const {
  return i < node_.output_size() && !node_.output(i).empty();
}

absl::StatusOr<NodeId> NodeReader::input(int i) const {
  if (!has(i)) return invalid(absl::StrCat("operand ", i, " is missing"));
  const std::optional<NodeId> found = state_.find(node_.input(i));
  if (!found && is_list(i))
    return invalid(absl::StrCat("operand ", i, ", '", printable(node_.input(i)),
                                "', is a sequence or an optional, not a tensor"));
  if (!found)
    return invalid(absl::StrCat("reads '", printable(node_.input(i)), "', which no earlier node produces"));
  return *found;
}

absl::StatusOr<ValueList> NodeReader::list(int i) const {
  if (!has(i)) return invalid(absl::StrCat("operand ", i, " is missing"));
  std::optional<ValueList> found = state_.find_list(node_.input(i));
  if (found) return *std::move(found);
  return invalid(absl::StrCat("operand ", i, ", '", printable(node_.input(i)),
                              "', is neither a sequence nor an optional"));
}

bool NodeReader::is_list(int i) const {
  return has(i) && state_.find_list(node_.input(i)).has_value();
}

absl::StatusOr<Value> NodeReader::value(int i) const {
  if (is_list(i)) return list(i);
  return input(i);
}

absl::StatusOr<std::vector<NodeId>> NodeReader::inputs() const {
  int count = input_count();
  while (count > 0 && !has(count - 1)) --count;
  std::vector<NodeId> all;
  for (int i = 0; i < count; ++i) {
    TF_ASSIGN_OR_RETURN(NodeId id, input(i));
    all.push_back(id);
  }
  return all;
}

absl::StatusOr<std::vector<int64_t>> NodeReader::constant_ints(int i, std::string_view what) const {
  TF_ASSIGN_OR_RETURN(NodeId id, input(i));
  auto* known = graph::as<Constant>(state_.graph.node(id));
  if (!known)
    return unsupported(absl::StrCat("its ", std::string(what), " (operand ", i,
                                    ") are computed from the model's ",
                                    "inputs; they must be known when the model is built"));
  const tensor::Element element = type(id).element;
  if (tensor::is_float(element))
    return invalid(absl::StrCat("its ", std::string(what), " are not whole numbers"));
  return graph::read_integers(element, known->data->bytes());
}

absl::StatusOr<std::vector<double>> NodeReader::constant_floats(int i, std::string_view what) const {
  TF_ASSIGN_OR_RETURN(NodeId id, input(i));
  auto* known = graph::as<Constant>(state_.graph.node(id));
  if (!known)
    return unsupported(absl::StrCat("its ", std::string(what), " (operand ", i,
                                    ") is computed from the model's ",
                                    "inputs; it must be known when the model is built"));
  return graph::read_floats(type(id).element, known->data->bytes());
}

const AttributeProto* NodeReader::find_attribute(std::string_view name) const {
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

bool NodeReader::has_attribute(std::string_view name) const {
  return find_attribute(name) != nullptr;
}

absl::StatusOr<int64_t> NodeReader::int_attribute(std::string_view name, int64_t otherwise) const {
  const AttributeProto* attribute = find_attribute(name);
  if (!attribute) return otherwise;
  if (attribute->type() != AttributeProto::INT)
    return invalid(absl::StrCat("attribute '", std::string(name), "' is not a whole number"));
  return attribute->i();
}

absl::StatusOr<double> NodeReader::float_attribute(std::string_view name, double otherwise) const {
  const AttributeProto* attribute = find_attribute(name);
  if (!attribute) return otherwise;
  if (attribute->type() != AttributeProto::FLOAT)
    return invalid(absl::StrCat("attribute '", std::string(name), "' is not a floating-point number"));
  return attribute->f();
}

absl::StatusOr<std::string> NodeReader::string_attribute(std::string_view name,
                                                         std::string_view otherwise) const {
  const AttributeProto* attribute = find_attribute(name);
  if (!attribute) return std::string(otherwise);
  if (attribute->type() != AttributeProto::STRING)
    return invalid(absl::StrCat("attribute '", std::string(name), "' is not a string"));
  return printable(attribute->s());
}

absl::StatusOr<std::vector<int64_t>> NodeReader::ints_attribute(std::string_view name,
                                                                std::vector<int64_t> otherwise) const {
  const AttributeProto* attribute = find_attribute(name);
  if (!attribute) return otherwise;
  if (attribute->type() != AttributeProto::INTS)
    return invalid(absl::StrCat("attribute '", std::string(name), "' is not a list of whole numbers"));
  return std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

absl::StatusOr<std::vector<double>> NodeReader::floats_attribute(std::string_view name) const {
  const AttributeProto* attribute = find_attribute(name);
  if (!attribute || attribute->type() != AttributeProto::FLOATS)
    return invalid(
        absl::StrCat("attribute '", std::string(name), "' is not a list of floating-point numbers"));
  return std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}

absl::StatusOr<std::vector<std::string>> NodeReader::strings_attribute(std::string_view name) const {
  const AttributeProto* attribute = find_attribute(name);
  if (!attribute || attribute->type() != AttributeProto::STRINGS)
    return invalid(absl::StrCat("attribute '", std::string(name), "' is not a list of texts"));
  std::vector<std::string> texts;
  for (const std::string& text : attribute->strings()) texts.push_back(printable(text));
  return texts;
}

absl::StatusOr<int64_t> NodeReader::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank)
    return invalid(absl::StrCat("axis ", axis, " of a tensor of rank ", rank));
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<std::vector<int64_t>> NodeReader::axes(std::vector<int64_t> axes, int rank) const {
  for (int64_t& a : axes) {
    TF_ASSIGN_OR_RETURN(a, axis(a, rank));
  }
  return axes;
}

absl::StatusOr<graph::HostTensor> NodeReader::tensor(const ::onnx::TensorProto& proto) const {
  absl::StatusOr<graph::HostTensor> value = state_.shared.tensor(proto);
  if (!value.ok()) return invalid(std::string(value.status().message()));
  return value;
}

absl::StatusOr<NodeId> NodeReader::emit(graph::Op op, std::vector<NodeId> inputs) {
  const bool is_of_sized = std::ranges::any_of(inputs, [&](NodeId input) { return is_sized(input); });
  const bool is_of_sizes = std::ranges::any_of(inputs, [&](NodeId input) { return holds_sizes(input); });
  absl::StatusOr<NodeId> id = state_.graph.add(std::move(op), std::move(inputs), name());
  if (!id.ok()) return error_of(id.status());
  graph::Node& node = state_.graph.nodes.back();
  if (is_of_sized || graph::found_by(node)) state_.sized.insert(*id);
  if (is_of_sizes) state_.sizes.insert(*id);
  TF_ASSIGN_OR_RETURN(const int64_t elements, graph::element_count(state_.graph.shape(node.type)));
  if (elements > kFoldAtOnce && !graph::as<graph::Reshape>(node)) return id;
  if (is_of_sized) return id;
  // A small part of a large table, which at another size may be another part, is left to the passes.
  if (graph::as<graph::Slice>(node) && tensor::is_float(node.type.element)) {
    TF_ASSIGN_OR_RETURN(const int64_t whole,
                        graph::element_count(state_.graph.shape(state_.graph.type(node.inputs[0]))));
    if (whole > kFoldAtOnce) return id;
  }
  if (graph::BlobRef folded = graph::fold(state_.graph, node.op, node.inputs, node.type)) {
    node.op = Constant{std::move(folded)};
    node.inputs.clear();
  }
  return id;
}

absl::StatusOr<NodeId> NodeReader::emit_sized(graph::Op op, std::vector<NodeId> inputs) {
  const absl::StatusOr<NodeId> id = state_.graph.add(std::move(op), std::move(inputs), name());
  if (!id.ok()) return error_of(id.status());
  state_.sized.insert(*id);
  return id;
}

absl::StatusOr<NodeId> NodeReader::result(NodeId node, int index) {
  if (index == 0) return node;
  return emit(graph::Result{index}, {node});
}

absl::StatusOr<tensor::Var> NodeReader::found_dimension(int64_t most) {
  if (in_region())
    return unsupported(
        "the size of its result depends on data, which is not supported in a branch or a loop");
  const std::string dimension = state_.new_dimension_name(output_count() > 0 ? node_.output(0) : name());
  const auto assumed = state_.shared.found.find(dimension);
  const tensor::Dimension dim{tensor::var(dimension), 0, kMostFound};
  state_.graph.binding[dimension] = assumed == state_.shared.found.end() ? most : assumed->second;
  state_.graph.dims.push_back(dim);
  return dim.var;
}

absl::StatusOr<ImportedRegion> NodeReader::region(std::string_view attribute,
                                                  const std::vector<RegionInput>& inputs) {
  const AttributeProto* found = find_attribute(attribute);
  if (!found || !found->has_g())
    return invalid(absl::StrCat("attribute '", std::string(attribute), "' is missing"));
  return import_region(found->g(), state_, inputs);
}

absl::StatusOr<std::vector<Value>> NodeReader::inlined(std::string_view attribute,
                                                       const std::vector<Value>& inputs) {
  const AttributeProto* found = find_attribute(attribute);
  if (!found || !found->has_g())
    return invalid(absl::StrCat("attribute '", std::string(attribute), "' is missing"));
  return import_inline(found->g(), state_, inputs);
}

absl::StatusOr<int> NodeReader::region_input_rank(std::string_view attribute, int input) const {
  const AttributeProto* found = find_attribute(attribute);
  if (!found || !found->has_g() || input >= found->g().input_size())
    return invalid(absl::StrCat("attribute '", std::string(attribute), "' has no input ", input));
  const auto& type = found->g().input(input).type();
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return -1;
  return type.tensor_type().shape().dim_size();
}

absl::StatusOr<NodeId> NodeReader::cast_to(tensor::Element element, NodeId x) {
  if (type(x).element == element) return x;
  return emit(graph::Cast{element}, {x});
}

absl::StatusOr<NodeId> NodeReader::widened(NodeId x) {
  const tensor::Element element = type(x).element;
  const bool half = element == tensor::Element::kFloat16 || element == tensor::Element::kBFloat16;
  return cast_to(half ? tensor::Element::kFloat32 : element, x);
}

NodeId NodeReader::ints(const std::vector<int64_t>& values) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(values.size())};
  return state_.graph.add_constant(graph::tensor_type(tensor::Element::kInt64, shape),
                                   graph::make_blob(values), name());
}

NodeId NodeReader::scalar(double value, tensor::Element element) {
  auto data = std::make_shared<const graph::Blob>(graph::write_floats(element, {value}));
  return state_.graph.add_constant({element, {}}, std::move(data), name());
}

const Dequantized* NodeReader::find_dequantized(NodeId id) const {
  const auto found = state_.dequantized.find(id);
  return found == state_.dequantized.end() ? nullptr : &found->second;
}

void NodeReader::set_output(int i, NodeId id) {
  if (has_output(i)) state_.values[node_.output(i)] = id;
}

void NodeReader::set_output(int i, const Value& value) {
  if (const auto* id = std::get_if<NodeId>(&value)) return set_output(i, *id);
  if (has_output(i)) state_.lists[node_.output(i)] = std::get<ValueList>(value);
}

absl::Status NodeReader::count_made(int64_t bytes) {
  if (bytes <= state_.shared.makeable_bytes) {
    state_.shared.makeable_bytes -= bytes;
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat("node '", name(), "' (", op_type(),
                                                   "): it produces a constant of ", bytes,
                                                   " bytes, which exceeds the limit"));
}

absl::Status NodeReader::error_of(const absl::Status& status) const {
  // The graph's own message names our operator; the file's is what the user knows.
  const std::string_view message(status.message().data(), status.message().size());
  const size_t colon = message.find("): ");
  const std::string_view reason = colon == std::string_view::npos ? message : message.substr(colon + 3);
  return absl::IsUnimplemented(status) ? unsupported(reason) : invalid(reason);
}

absl::Status NodeReader::invalid(std::string_view message) const {
  return absl::InvalidArgumentError(
      absl::StrCat("node '", name(), "' (", op_type(), "): ", std::string(message)));
}

absl::Status NodeReader::unsupported(std::string_view message) const {
  return absl::UnimplementedError(
      absl::StrCat("node '", name(), "' (", op_type(), "): ", std::string(message)));
}

tensor::Expr product(std::span<const tensor::Expr> extents) {
  int64_t known = 1;
  tensor::Expr named;
  for (const tensor::Expr& extent : extents) {
    if (auto number = tensor::as_int(extent)) {
      known *= *number;
    } else {
      named = named ? named * extent : extent;
    }
  }
  if (!named) return tensor::imm(known);
  return known == 1 ? named : named * known;
}

}  // namespace tf::onnx
