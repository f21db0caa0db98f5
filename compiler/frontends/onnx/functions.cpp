#include "compiler/frontends/onnx/functions.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace tf::onnx {
namespace {

using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using Nodes = ::google::protobuf::RepeatedPtrField<NodeProto>;

constexpr int kMostNodes = 1 << 20;
constexpr int kDeepest = 64;
// FunctionProto.attribute_proto, attributes with defaults, which came after the version of ONNX that we read with.
constexpr int kDefaultsField = 11;

std::string domain_of(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

// The standard set of operators that is imported; nothing if none is.
template <typename Imports>
std::optional<int64_t> standard_set(const Imports& imports) {
  for (const auto& imported : imports)
    if (domain_of(imported.domain()).empty()) return imported.version();
  return std::nullopt;
}

std::map<std::string, AttributeProto> defaults_of(const FunctionProto& function) {
  std::map<std::string, AttributeProto> defaults;
  const auto& unknown = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    AttributeProto attribute;
    if (field.number() == kDefaultsField &&
        field.type() == ::google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        attribute.ParseFromString(field.length_delimited()))
      defaults[attribute.name()] = attribute;
  }
  return defaults;
}

// One call: what names and attributes of the function's body stand for.
class Call {
 public:
  Call(const FunctionProto& function, const NodeProto& call, int number)
      : call_(call),
        prefix_(absl::StrCat(call.name().empty() ? call.op_type() : call.name(), "#", number, "/")) {
    for (int i = 0; i < function.input_size(); ++i)
      names_[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    attributes_ = defaults_of(function);
    for (const AttributeProto& attribute : call.attribute()) attributes_[attribute.name()] = attribute;
    for (const NodeProto& node : function.node())
      for (const std::string& output : node.output())
        if (!output.empty()) names_[output] = prefix_ + output;
  }

  // Adds what gives the call's results their names.
  void results(const FunctionProto& function, Nodes& out) {
    for (int i = 0; i < call_.output_size(); ++i) {
      if (call_.output(i).empty()) continue;
      NodeProto& node = *out.Add();
      node.set_op_type("Identity");
      node.set_name(absl::StrCat(prefix_, "result", i));
      node.add_input(named(function.output(i)));
      node.add_output(call_.output(i));
    }
  }

  NodeProto instance(const NodeProto& node) {
    NodeProto copy = node;
    copy.set_name(prefix_ + node.name());
    for (std::string& input : *copy.mutable_input()) input = named(input);
    for (std::string& output : *copy.mutable_output()) output = named(output);
    copy.clear_attribute();
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty()) {
        AttributeProto& kept = *copy.add_attribute();
        kept = attribute;
        if (kept.has_g()) rename(*kept.mutable_g());
        for (GraphProto& graph : *kept.mutable_graphs()) rename(graph);
      } else if (const auto given = attributes_.find(attribute.ref_attr_name()); given != attributes_.end()) {
        AttributeProto& passed = *copy.add_attribute();
        passed = given->second;
        passed.set_name(attribute.name());
      }
    }
    return copy;
  }

 private:
  std::string named(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? name : found->second;
  }

  // A graph in the body reads the body's values by name.
  void rename(GraphProto& graph) {
    for (NodeProto& node : *graph.mutable_node()) {
      const std::string name = node.name();
      node = instance(node);
      node.set_name(name);
    }
    for (auto& output : *graph.mutable_output()) output.set_name(named(output.name()));
  }

  const NodeProto& call_;
  const std::string prefix_;
  std::map<std::string, std::string> names_;
  std::map<std::string, AttributeProto> attributes_;
};

class Expander {
 public:
  explicit Expander(const ModelProto& model) : model_(model) {
    for (const FunctionProto& function : model.functions())
      functions_[{domain_of(function.domain()), function.name()}] = &function;
  }

  absl::Status graph(GraphProto& graph, int depth) {
    Nodes nodes;
    nodes.Swap(graph.mutable_node());
    for (NodeProto& node : nodes)
      TF_RETURN_IF_ERROR(this->node(std::move(node), *graph.mutable_node(), depth));
    return absl::OkStatus();
  }

 private:
  absl::Status node(NodeProto node, Nodes& out, int depth) {
    if (++count_ > kMostNodes)
      return absl::ResourceExhaustedError("the calls of the model's functions are too many");
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) TF_RETURN_IF_ERROR(graph(*attribute.mutable_g(), depth));
      for (GraphProto& each : *attribute.mutable_graphs()) TF_RETURN_IF_ERROR(graph(each, depth));
    }
    const auto found = functions_.find({domain_of(node.domain()), node.op_type()});
    if (found == functions_.end()) {
      *out.Add() = std::move(node);
      return absl::OkStatus();
    }
    const FunctionProto& function = *found->second;
    TF_RETURN_IF_ERROR(check(function, node, depth));
    Call call(function, node, ++calls_);
    for (const NodeProto& inner : function.node())
      TF_RETURN_IF_ERROR(this->node(call.instance(inner), out, depth + 1));
    call.results(function, out);
    return absl::OkStatus();
  }

  absl::Status check(const FunctionProto& function, const NodeProto& call, int depth) const {
    const std::string name =
        absl::StrCat("node '", printable(call.name()), "' (", printable(call.op_type()), "): its function ");
    if (depth >= kDeepest) return absl::InvalidArgumentError(absl::StrCat(name, "calls itself"));
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
      return absl::InvalidArgumentError(absl::StrCat(name, "has ", function.input_size(), " operands and ",
                                                     function.output_size(),
                                                     " results, fewer than the call"));
    const auto of_function = standard_set(function.opset_import()),
               of_model = standard_set(model_.opset_import());
    if (of_function && of_model && *of_function != *of_model)
      return absl::UnimplementedError(absl::StrCat(name, "is of operator set ", *of_function,
                                                   ", the model of ", *of_model,
                                                   ": convert one with onnx.version_converter"));
    return absl::OkStatus();
  }

  const ModelProto& model_;
  std::map<std::pair<std::string, std::string>, const FunctionProto*> functions_;
  int count_ = 0, calls_ = 0;
};

}  // namespace

absl::Status expand_functions(ModelProto& model) {
  if (model.functions_size() == 0) return absl::OkStatus();
  const ModelProto functions = [&] {
    ModelProto copy;
    *copy.mutable_functions() = model.functions();
    *copy.mutable_opset_import() = model.opset_import();
    return copy;
  }();
  return Expander(functions).graph(*model.mutable_graph(), 0);
}

}  // namespace tf::onnx
