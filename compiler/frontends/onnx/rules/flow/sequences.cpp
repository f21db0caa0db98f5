// Sequences and optionals. Their lengths are known while importing: a list of values takes their place.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/whole_division.h"
#include "compiler/frontends/onnx/node_reader.h"
#include "compiler/graph/element_values.h"

namespace tf::onnx {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace): these files speak of little else.

using Ints = std::vector<int64_t>;
using Nodes = std::vector<NodeId>;
using Form = ValueList::Kind;

constexpr int64_t kLongest = 1 << 12;

absl::StatusOr<ValueList> sequence(const NodeReader& node, int i) {
  TF_ASSIGN_OR_RETURN(ValueList list, node.list(i));
  if (list.is_optional()) return node.invalid(absl::StrCat("operand ", i, " is an optional, not a sequence"));
  return list;
}

// A place in [-length, end), as one from the start.
absl::StatusOr<int64_t> position_of(const NodeReader& node, int i, int64_t length, int64_t end) {
  TF_ASSIGN_OR_RETURN(const Ints known, node.constant_ints(i, "position"));
  if (known.size() != 1) return node.invalid("its position is not a single number");
  if (known[0] < -length || known[0] >= end)
    return node.invalid(absl::StrCat("position ", known[0], " of a sequence of ", length));
  return known[0] < 0 ? known[0] + length : known[0];
}

// Without the axis of extent 1, or with a new one there.
absl::StatusOr<NodeId> without_axis(NodeReader& node, NodeId x, int64_t axis) {
  std::vector<tensor::Expr> extents = node.type(x).extents;
  extents.erase(extents.begin() + axis);
  return node.emit(Reshape{std::move(extents)}, {x});
}
absl::StatusOr<NodeId> with_axis(NodeReader& node, NodeId x, int64_t axis) {
  std::vector<tensor::Expr> extents = node.type(x).extents;
  extents.insert(extents.begin() + axis, tensor::imm(1));
  return node.emit(Reshape{std::move(extents)}, {x});
}

absl::Status sequence_empty(NodeReader& node) {
  node.set_output(0, ValueList{});
  return absl::OkStatus();
}

absl::Status sequence_construct(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(Nodes elements, node.inputs());
  for (NodeId id : elements)
    if (node.type(id).element != node.type(elements[0]).element)
      return node.invalid("its operands have different element types");
  node.set_output(0, ValueList{.elements = std::move(elements)});
  return absl::OkStatus();
}

absl::Status sequence_at(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const ValueList list, sequence(node, 0));
  const int64_t length = std::ssize(list.elements);
  TF_ASSIGN_OR_RETURN(const int64_t at, position_of(node, 1, length, length));
  node.set_output(0, list.elements[static_cast<size_t>(at)]);
  return absl::OkStatus();
}

absl::Status sequence_insert(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(ValueList list, sequence(node, 0));
  TF_ASSIGN_OR_RETURN(const NodeId added, node.input(1));
  const int64_t length = std::ssize(list.elements);
  int64_t at = length;
  if (node.has(2)) {
    TF_ASSIGN_OR_RETURN(at, position_of(node, 2, length, length + 1));
  }
  if (length > 0 && node.type(list.elements[0]).element != node.type(added).element)
    return node.invalid("the tensor's element type is not that of the sequence");
  list.elements.insert(list.elements.begin() + at, added);
  node.set_output(0, list);
  return absl::OkStatus();
}

absl::Status sequence_erase(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(ValueList list, sequence(node, 0));
  const int64_t length = std::ssize(list.elements);
  if (length == 0) return node.invalid("the sequence is empty");
  int64_t at = length - 1;
  if (node.has(1)) {
    TF_ASSIGN_OR_RETURN(at, position_of(node, 1, length, length));
  }
  list.elements.erase(list.elements.begin() + at);
  node.set_output(0, list);
  return absl::OkStatus();
}

absl::Status sequence_length(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const ValueList list, sequence(node, 0));
  const int64_t length = std::ssize(list.elements);
  node.set_output(
      0, node.graph().add_constant({tensor::Element::kInt64, {}}, make_blob(Ints{length}), node.name()));
  return absl::OkStatus();
}

// Sizes along the axis: those given, or of a single number as many of that as there are, the last perhaps smaller.
absl::StatusOr<Ints> part_sizes(NodeReader& node, int64_t extent) {
  if (!node.has(1)) {
    if (extent > kLongest) return node.unsupported(absl::StrCat("a sequence of ", extent, " tensors"));
    return Ints(static_cast<size_t>(extent), 1);
  }
  TF_ASSIGN_OR_RETURN(const NodeId given, node.input(1));
  TF_ASSIGN_OR_RETURN(Ints sizes, node.constant_ints(1, "sizes"));
  if (node.rank(given) == 0) {
    const int64_t size = sizes[0];
    if (size < 1) return node.invalid(absl::StrCat("parts of size ", size));
    if (extent / size > kLongest)
      return node.unsupported(absl::StrCat("a sequence of ", extent / size, " tensors"));
    sizes.assign(static_cast<size_t>(ceil_div(extent, std::min(size, std::max<int64_t>(extent, 1)))), size);
    if (extent % size != 0) sizes.back() = extent % size;
    return sizes;
  }
  int64_t sum = 0;
  for (int64_t size : sizes)
    if (size < 0 || size > extent || (sum += size) > extent) sum = -1 - extent;
  if (sum != extent) return node.invalid(absl::StrCat("its sizes do not sum to the axis's ", extent));
  return sizes;
}

absl::Status split_to_sequence(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const NodeId x, node.input(0));
  TF_ASSIGN_OR_RETURN(int64_t axis, node.int_attribute("axis", 0));
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, node.rank(x)));
  TF_ASSIGN_OR_RETURN(const int64_t keeps, node.int_attribute("keepdims", 1));
  TF_ASSIGN_OR_RETURN(const Ints sizes, part_sizes(node, node.graph().shape(x)[static_cast<size_t>(axis)]));
  ValueList list;
  int64_t start = 0;
  for (int64_t size : sizes) {
    TF_ASSIGN_OR_RETURN(NodeId part, node.emit(Slice{{axis}, {start}, {size}, {1}}, {x}));
    if (keeps == 0 && !node.has(1)) {
      TF_ASSIGN_OR_RETURN(part, without_axis(node, part, axis));
    }
    list.elements.push_back(part);
    start += size;
  }
  node.set_output(0, list);
  return absl::OkStatus();
}

absl::Status concat_from_sequence(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(ValueList list, sequence(node, 0));
  if (list.elements.empty()) return node.invalid("the sequence is empty");
  TF_ASSIGN_OR_RETURN(int64_t axis, node.int_attribute("axis", 0));
  TF_ASSIGN_OR_RETURN(const int64_t stacks, node.int_attribute("new_axis", 0));
  TF_ASSIGN_OR_RETURN(axis, node.axis(axis, node.rank(list.elements[0]) + (stacks != 0 ? 1 : 0)));
  for (NodeId& element : list.elements) {
    if (stacks == 0) break;
    if (node.rank(element) < axis) return node.invalid("the sequence's tensors have different ranks");
    TF_ASSIGN_OR_RETURN(element, with_axis(node, element, axis));
  }
  TF_ASSIGN_OR_RETURN(const NodeId joined, node.emit(Concat{axis}, list.elements));
  node.set_output(0, joined);
  return absl::OkStatus();
}

// The body for each element of the first operand, and of all others that are sequences.
absl::Status sequence_map(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const ValueList first, sequence(node, 0));
  std::vector<Value> operands;
  for (int i = 0; i < node.input_count(); ++i) {
    TF_ASSIGN_OR_RETURN(const Value operand, node.value(i));
    const auto* list = std::get_if<ValueList>(&operand);
    if (list && (list->is_optional() || list->elements.size() != first.elements.size()))
      return node.invalid(
          absl::StrCat("operand ", i, " is not a sequence of ", first.elements.size(), " tensors"));
    operands.push_back(operand);
  }
  std::vector<ValueList> results(static_cast<size_t>(node.output_count()));
  for (size_t at = 0; at < first.elements.size(); ++at) {
    std::vector<Value> own = operands;
    for (Value& operand : own) {
      const auto* list = std::get_if<ValueList>(&operand);
      if (list) operand = NodeId(list->elements[at]);
    }
    TF_ASSIGN_OR_RETURN(const std::vector<Value> outputs, node.inlined("body", own));
    if (outputs.size() < results.size()) return node.invalid("its body has too few outputs");
    for (size_t i = 0; i < results.size(); ++i) {
      const auto* id = std::get_if<NodeId>(&outputs[i]);
      if (!id) return node.invalid("its body gives a sequence or an optional");
      results[i].elements.push_back(*id);
    }
  }
  for (size_t i = 0; i < results.size(); ++i) node.set_output(static_cast<int>(i), results[i]);
  return absl::OkStatus();
}

absl::Status optional(NodeReader& node) {
  if (!node.has(0)) {
    const ::onnx::AttributeProto* type = node.find_attribute("type");
    if (!type || !type->has_tp()) return node.invalid("it has neither an operand nor attribute 'type'");
    const Form form = type->tp().has_sequence_type() ? Form::kOptionalSequence : Form::kOptionalTensor;
    node.set_output(0, ValueList{.kind = form, .elements = {}, .holds = false});
    return absl::OkStatus();
  }
  TF_ASSIGN_OR_RETURN(const Value given, node.value(0));
  ValueList list{.kind = Form::kOptionalTensor};
  if (const auto* id = std::get_if<NodeId>(&given)) {
    list.elements = {*id};
  } else {
    list = std::get<ValueList>(given);
    if (list.is_optional()) return node.invalid("its operand is an optional");
    list.kind = Form::kOptionalSequence;
  }
  node.set_output(0, list);
  return absl::OkStatus();
}

// Of what is no optional, itself.
absl::Status optional_get_element(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(Value value, node.value(0));
  if (auto* list = std::get_if<ValueList>(&value); list && list->is_optional()) {
    if (!list->holds) return node.invalid("the optional holds nothing");
    if (list->kind == Form::kOptionalTensor) {
      node.set_output(0, list->elements[0]);
      return absl::OkStatus();
    }
    list->kind = Form::kSequence;
  }
  node.set_output(0, value);
  return absl::OkStatus();
}

absl::Status optional_has_element(NodeReader& node) {
  bool holds = node.has(0);
  if (holds) {
    TF_ASSIGN_OR_RETURN(const Value value, node.value(0));
    const auto* list = std::get_if<ValueList>(&value);
    holds = !list || list->holds;
  }
  auto data = std::make_shared<const Blob>(write_integers(tensor::Element::kBool, {holds ? 1 : 0}));
  node.set_output(0, node.graph().add_constant({tensor::Element::kBool, {}}, std::move(data), node.name()));
  return absl::OkStatus();
}

absl::Status identity(NodeReader& node) {
  TF_ASSIGN_OR_RETURN(const Value value, node.value(0));
  node.set_output(0, value);
  return absl::OkStatus();
}

constexpr std::array kSequenceRules = {NamedListRule{"ConcatFromSequence", concat_from_sequence},
                                       NamedListRule{"Identity", identity},
                                       NamedListRule{"Optional", optional},
                                       NamedListRule{"OptionalGetElement", optional_get_element},
                                       NamedListRule{"OptionalHasElement", optional_has_element},
                                       NamedListRule{"SequenceAt", sequence_at},
                                       NamedListRule{"SequenceConstruct", sequence_construct},
                                       NamedListRule{"SequenceEmpty", sequence_empty},
                                       NamedListRule{"SequenceErase", sequence_erase},
                                       NamedListRule{"SequenceInsert", sequence_insert},
                                       NamedListRule{"SequenceLength", sequence_length},
                                       NamedListRule{"SequenceMap", sequence_map},
                                       NamedListRule{"SplitToSequence", split_to_sequence}};

}  // namespace

std::span<const NamedListRule> sequence_rules() {
  return kSequenceRules;
}

}  // namespace tf::onnx
