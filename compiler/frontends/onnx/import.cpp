#include "compiler/frontends/onnx/import.h"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/frontends/onnx/declared_output.h"
#include "compiler/frontends/onnx/external_data.h"
#include "compiler/frontends/onnx/functions.h"
#include "compiler/frontends/onnx/given_input.h"
#include "compiler/frontends/onnx/import_graph.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/verify.h"

namespace tf::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::ValueInfoProto;

constexpr int kOldestOpset = 1;
// From set 24 to 26, operators took more element types, and new ones came.
constexpr int kNewestOpset = 26;
constexpr int64_t kImportsOpsets =
    3;  // the first version of the format in which a model names its operator sets

class Importer {
 public:
  Importer(DataFolders folders, const ImportOptions& options)
      : options_(options), shared_(std::move(folders)), state_(shared_) {
    shared_.makeable_bytes = options.most_made_bytes;
    shared_.found = options.found;
  }

  // Takes the weights from the model.
  absl::StatusOr<graph::Graph> run(ModelProto model) {
    TF_RETURN_IF_ERROR(check_header(model));
    GraphProto& proto = *model.mutable_graph();
    state_.graph.name = printable(proto.name());
    std::set<std::string> initializers;
    for (const ::onnx::TensorProto& tensor : proto.initializer()) initializers.insert(tensor.name());
    for (const ValueInfoProto& input : proto.input()) {
      if (initializers.contains(input.name())) continue;
      if (auto given = options_.given.find(input.name()); given != options_.given.end()) {
        TF_RETURN_IF_ERROR(fix_input(input, given->second));
      } else if (is_list(input)) {
        TF_RETURN_IF_ERROR(list_input(input));
      } else {
        TF_ASSIGN_OR_RETURN(state_.values[input.name()], this->input(input));
      }
    }
    TF_RETURN_IF_ERROR(check_given(proto));
    TF_RETURN_IF_ERROR(check_dims());
    TF_RETURN_IF_ERROR(with_all_that_is_missing(import_graph(proto, state_), proto));
    for (const ValueInfoProto& output : proto.output()) TF_RETURN_IF_ERROR(this->output(output));
    TF_RETURN_IF_ERROR(add_outputs());
    TF_RETURN_IF_ERROR(graph::verify(state_.graph));
    return graph::remove_dead_code(state_.graph);
  }

  absl::Status check_dims(const GraphProto& proto) {
    std::set<std::string> constants;
    for (const ::onnx::TensorProto& tensor : proto.initializer()) constants.insert(tensor.name());
    for (const ValueInfoProto& input : proto.input())
      if (!constants.contains(input.name()) && !is_list(input))
        TF_RETURN_IF_ERROR(extents_of(input).status());
    return check_dims();
  }

 private:
  static bool is_list(const ValueInfoProto& info) {
    return info.type().has_sequence_type() || info.type().has_optional_type();
  }

  // Adds a list of all operators that the user would have to replace.
  static absl::Status with_all_that_is_missing(const absl::Status& status, const GraphProto& proto) {
    if (!absl::IsUnimplemented(status)) return status;
    const std::string missing = operators_without_rules(proto);
    if (missing.empty()) return status;
    return absl::UnimplementedError(
        absl::StrCat(status.message(), "; operators of this model that are not supported: ", missing));
  }

  absl::Status check_header(const ModelProto& model) {
    if (model.opset_import().empty() && model.ir_version() >= kImportsOpsets)
      return absl::InvalidArgumentError(
          "the model does not say of which operator set it is: opset_import is empty");
    // Without one of the usual domain the model has no operators of it.
    shared_.opset = model.opset_import().empty() ? kOldestOpset : kNewestOpset;
    for (const auto& opset : model.opset_import()) {
      if (opset.domain().empty() || opset.domain() == "ai.onnx")
        shared_.opset = static_cast<int>(std::clamp<int64_t>(opset.version(), 0, 1000));
    }
    if (shared_.opset < kOldestOpset || shared_.opset > kNewestOpset)
      return absl::InvalidArgumentError(
          absl::StrCat("the model is of operator set ", shared_.opset, "; ", kOldestOpset, " to ",
                       kNewestOpset, " are supported: convert it with onnx.version_converter"));
    if (model.graph().sparse_initializer_size() > 0)
      return absl::UnimplementedError("the model has sparse initializers, which are not supported");
    return absl::OkStatus();
  }

  absl::Status fix_input(const ValueInfoProto& info, const std::string& text) {
    TF_ASSIGN_OR_RETURN(const tensor::Element element, element_of(info));
    std::optional<std::vector<std::optional<int64_t>>> extents;
    if (const auto& type = info.type().tensor_type(); type.has_shape()) {
      extents.emplace();
      for (const auto& dim : type.shape().dim())
        extents->push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? std::optional(dim.dim_value())
                                                                       : std::nullopt);
    }
    TF_ASSIGN_OR_RETURN(graph::HostTensor value, given_input(info.name(), text, element, extents));
    state_.values[info.name()] = state_.graph.add_constant(graph::tensor_type(value.element, value.shape),
                                                           std::move(value.data), printable(info.name()));
    return absl::OkStatus();
  }

  // Whether each value that a user gave is of an input.
  absl::Status check_given(const GraphProto& proto) const {
    std::set<std::string> names;
    for (const ValueInfoProto& input : proto.input()) names.insert(input.name());
    for (const auto& [name, text] : options_.given)
      if (!names.contains(name))
        return absl::InvalidArgumentError(
            absl::StrCat("--input ", printable(name), "=", printable(text),
                         ": the model has no such input; it has: ", printable(absl::StrJoin(names, ", "))));
    return absl::OkStatus();
  }

  // Values that a user asked for.
  absl::Status add_outputs() {
    for (const std::string& name : options_.outputs) {
      const auto found = state_.values.find(name);
      if (found == state_.values.end())
        return absl::InvalidArgumentError(
            absl::StrCat("--expose ", printable(name), ": no node of the model gives a value of that name"));
      const bool is_one = std::ranges::any_of(
          state_.graph.outputs, [&](const graph::Output& output) { return output.name == printable(name); });
      if (!is_one) state_.graph.outputs.push_back({printable(name), found->second});
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<tensor::Element> element_of(const ValueInfoProto& info) {
    absl::StatusOr<tensor::Element> element = element_from_onnx(info.type().tensor_type().elem_type());
    if (element.ok()) return element;
    return absl::InvalidArgumentError(
        absl::StrCat("input '", printable(info.name()), "': ", element.status().message()));
  }

  // Of an optional: nothing where it holds nothing.
  absl::StatusOr<std::optional<int64_t>> length_of(const ValueInfoProto& info) {
    if (const auto known = options_.lengths.find(info.name()); known != options_.lengths.end())
      return known->second;
    const auto given = options_.dims.find(info.name());
    const std::string name = printable(info.name());
    if (given == options_.dims.end())
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", name, "' is a sequence or an optional of no known length: give it, as in --dim ", name,
          "=1"));
    used_.insert(given->first);
    constexpr int64_t kLongest = 1 << 12;
    if (given->second < 0 || given->second > kLongest)
      return absl::InvalidArgumentError(absl::StrCat("--dim ", name, "=", given->second, " is outside [0, ",
                                                     kLongest, "], of the length of an input"));
    return given->second;
  }

  // Its tensors, as inputs.
  absl::Status list_input(const ValueInfoProto& info) {
    const ::onnx::TypeProto& type = info.type();
    const bool optional = type.has_optional_type();
    const ::onnx::TypeProto& held = optional ? type.optional_type().elem_type() : type;
    ValueList list;
    if (optional)
      list.kind =
          held.has_sequence_type() ? ValueList::Kind::kOptionalSequence : ValueList::Kind::kOptionalTensor;
    TF_ASSIGN_OR_RETURN(const std::optional<int64_t> length, length_of(info));
    list.holds = length.has_value() && (list.kind != ValueList::Kind::kOptionalTensor || *length > 0);
    for (int64_t i = 0; i < length.value_or(0); ++i) {
      ValueInfoProto element;
      element.set_name(list.kind == ValueList::Kind::kOptionalTensor ? info.name()
                                                                     : absl::StrCat(info.name(), ".", i));
      *element.mutable_type() = held.has_sequence_type() ? held.sequence_type().elem_type() : held;
      // Named dimensions of a sequence's tensors are not the same in all of them.
      auto& shape = *element.mutable_type()->mutable_tensor_type();
      for (int d = 0; shape.has_shape() && d < shape.shape().dim_size(); ++d)
        if (!shape.shape().dim(d).has_dim_value()) shape.mutable_shape()->mutable_dim(d)->clear_dim_param();
      TF_ASSIGN_OR_RETURN(const NodeId id, input(element));
      list.elements.push_back(id);
      if (list.kind == ValueList::Kind::kOptionalTensor) break;
    }
    state_.lists[info.name()] = std::move(list);
    return absl::OkStatus();
  }

  absl::Status output(const ValueInfoProto& info) {
    if (const auto found = state_.values.find(info.name()); found != state_.values.end()) {
      TF_RETURN_IF_ERROR(check_declared_output(info, state_.graph, found->second));
      state_.graph.outputs.push_back({printable(info.name()), found->second});
      return absl::OkStatus();
    }
    const auto list = state_.lists.find(info.name());
    if (list == state_.lists.end())
      return absl::InvalidArgumentError(
          absl::StrCat("output '", printable(info.name()), "' is not produced by any node"));
    return list_output(info, list->second);
  }

  // Its tensors, as outputs.
  absl::Status list_output(const ValueInfoProto& info, const ValueList& list) {
    const ::onnx::TypeProto& type = info.type();
    if (list.is_optional() != type.has_optional_type() || (!list.is_optional() && !type.has_sequence_type()))
      return absl::InvalidArgumentError(absl::StrCat(
          "output '", printable(info.name()), "' is ", list.is_optional() ? "an optional" : "a sequence",
          ", but is not declared as such: correct the declared type in the model, or export it again"));
    const ::onnx::TypeProto& held = list.is_optional() ? type.optional_type().elem_type() : type;
    for (size_t i = 0; i < list.elements.size(); ++i) {
      ValueInfoProto element;
      element.set_name(list.kind == ValueList::Kind::kOptionalTensor ? info.name()
                                                                     : absl::StrCat(info.name(), ".", i));
      *element.mutable_type() = held.has_sequence_type() ? held.sequence_type().elem_type() : held;
      TF_RETURN_IF_ERROR(check_declared_output(element, state_.graph, list.elements[i]));
      state_.graph.outputs.push_back({printable(element.name()), list.elements[i]});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<NodeId> input(const ValueInfoProto& info) {
    if (auto fixed = options_.fixed.find(info.name()); fixed != options_.fixed.end()) {
      const graph::HostTensor& value = fixed->second;
      return state_.graph.add_constant(graph::tensor_type(value.element, value.shape), value.data,
                                       printable(info.name()));
    }
    TF_ASSIGN_OR_RETURN(auto extents, extents_of(info));
    TF_ASSIGN_OR_RETURN(const tensor::Element element, element_of(info));
    graph::TensorType result{element, std::move(extents)};
    if (absl::Status status = graph::element_count(state_.graph.shape(result)).status(); !status.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("input '", printable(info.name()), "': ", status.message()));
    const NodeId id = state_.graph.add_input(std::move(result), printable(info.name()));
    if (is_four_bits(info.type().tensor_type().elem_type())) state_.four_bits.insert(id);
    return id;
  }

  absl::StatusOr<std::vector<tensor::Expr>> extents_of(const ValueInfoProto& info) {
    const auto known = options_.shapes.find(info.name());
    if (info.type().has_tensor_type() && !info.type().tensor_type().has_shape() &&
        known != options_.shapes.end())
      return graph::tensor_type(tensor::Element::kFloat32, known->second).extents;
    if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape())
      return absl::InvalidArgumentError(
          absl::StrCat("input '", printable(info.name()), "' is not a tensor of known rank"));
    const auto& shape = info.type().tensor_type().shape();
    std::vector<tensor::Expr> extents;
    for (int i = 0; i < shape.dim_size(); ++i) {
      const auto& dim = shape.dim(i);
      const bool is_empty = known != options_.shapes.end() && i < std::ssize(known->second) &&
                            known->second[static_cast<size_t>(i)] == 0;
      if (dim.has_dim_value() && dim.dim_value() >= 0) {
        extents.push_back(tensor::imm(dim.dim_value()));
      } else if (is_empty) {
        extents.push_back(tensor::imm(int64_t{0}));  // which no dimension may be
      } else {
        // Exporters write -1, or nothing, where they mean "any".
        const std::string name =
            dim.dim_param().empty() ? absl::StrCat(info.name(), "_dim", i) : dim.dim_param();
        TF_ASSIGN_OR_RETURN(tensor::Var var, dimension(name, info.name(), i));
        extents.push_back(var);
      }
    }
    return extents;
  }

  absl::StatusOr<tensor::Var> dimension(const std::string& name, const std::string& input, int axis) {
    if (auto known = dims_.find(name); known != dims_.end()) return known->second;
    const std::string clean = state_.new_dimension_name(name);
    auto given = options_.dims.find(name);
    if (given == options_.dims.end()) given = options_.dims.find(clean);
    if (given != options_.dims.end()) used_.insert(given->first);
    std::optional<int64_t> value;
    if (given != options_.dims.end()) value = given->second;
    if (const auto shape = options_.shapes.find(input);
        !value && shape != options_.shapes.end() && static_cast<size_t>(axis) < shape->second.size())
      value = shape->second[static_cast<size_t>(axis)];
    if (!value)
      return absl::InvalidArgumentError(absl::StrCat("dimension '", printable(name), "' (axis ", axis,
                                                     " of input '", printable(input),
                                                     "') has no value: give one, as in --dim ", clean, "=1"));
    tensor::Dimension dim{tensor::var(clean)};
    if (*value < dim.low || *value > dim.high)
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", clean, "=", *value, " is outside [", dim.low, ", ", dim.high, "]"));
    state_.graph.binding[clean] = *value;
    state_.graph.dims.push_back(dim);
    return dims_[name] = dim.var;
  }

  absl::Status check_dims() {
    std::vector<std::string> names;
    for (const auto& [name, var] : dims_) names.push_back(printable(name));
    for (const auto& [name, value] : options_.dims) {
      if (!used_.contains(name))
        return absl::InvalidArgumentError(absl::StrCat(
            "--dim ", name, "=", value, ": the model has no such dimension; ",
            names.empty() ? "it has no named dimensions" : "it has: " + absl::StrJoin(names, ", ")));
    }
    return absl::OkStatus();
  }

  const ImportOptions& options_;
  ImportShared shared_;
  ImportState state_;
  std::map<std::string, tensor::Var> dims_;
  std::set<std::string> used_;
};

absl::Status check_size(int64_t bytes) {
  if (bytes <= INT32_MAX) return absl::OkStatus();
  return absl::InvalidArgumentError("the file is over 2 GiB, ONNX's limit: keep weights as external data");
}

absl::Status check_whole(bool is_parsed, const ModelProto& model) {
  if (!is_parsed)
    return absl::InvalidArgumentError("not a whole ONNX model: truncated, or in another format");
  if (!model.has_graph() || model.graph().output_size() == 0)
    return absl::InvalidArgumentError("not a whole ONNX model: it has no graph with outputs");
  return absl::OkStatus();
}

absl::StatusOr<ModelProto> parse(std::string_view bytes) {
  ModelProto model;
  TF_RETURN_IF_ERROR(check_size(std::ssize(bytes)));
  const bool is_parsed = model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  TF_RETURN_IF_ERROR(check_whole(is_parsed, model));
  return model;
}

absl::StatusOr<ModelProto> parse_file(int fd) {
  ModelProto model;
  struct stat there;
  if (::fstat(fd, &there) != 0) return absl::ErrnoToStatus(errno, "cannot read the file");
  TF_RETURN_IF_ERROR(check_size(there.st_size));
  google::protobuf::io::FileInputStream stream(fd, 1 << 20);
  TF_RETURN_IF_ERROR(check_whole(model.ParseFromZeroCopyStream(&stream), model));
  return model;
}

absl::StatusOr<graph::Graph> import(ModelProto model, const DataFolders& folders,
                                    const ImportOptions& options) {
  TF_RETURN_IF_ERROR(expand_functions(model));
  return Importer(folders, options).run(std::move(model));
}

// A varint of protobuf, taken off the bytes; nullopt where they end before it does.
std::optional<uint64_t> take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

}  // namespace

const frontends::Frontend kFrontend = {.name = "ONNX",
                                       .suffix = ".onnx",
                                       .accepts = is_model,
                                       .import_model = import_model,
                                       .import_file = import_file,
                                       .check_dims = check_dims,
                                       .with_data_inside = with_data_inside,
                                       .check_data_inside = check_data_inside};

bool is_model(std::string_view bytes) {
  constexpr uint64_t kNewestField = 100;  // more than ModelProto has, or will soon
  while (const std::optional<uint64_t> tag = take_varint(bytes)) {
    const uint64_t field = *tag >> 3, wire_type = *tag & 7;
    if (field == ModelProto::kGraphFieldNumber) return wire_type == 2;
    if (field == 0 || field > kNewestField) return false;
    uint64_t size = wire_type == 1 ? 8 : 4;
    if (wire_type == 0 || wire_type == 2) {
      const std::optional<uint64_t> value = take_varint(bytes);
      if (!value) return false;
      size = wire_type == 2 ? *value : 0;
    } else if (wire_type != 1 && wire_type != 5) {
      return false;
    }
    if (size > bytes.size()) return false;
    bytes.remove_prefix(size);
  }
  return false;
}

absl::StatusOr<graph::Graph> import_model(std::string_view bytes, const DataFolders& folders,
                                          const ImportOptions& options) {
  TF_ASSIGN_OR_RETURN(ModelProto model, parse(bytes));
  return import(std::move(model), folders, options);
}

absl::StatusOr<graph::Graph> import_file(int fd, const DataFolders& folders, const ImportOptions& options) {
  TF_ASSIGN_OR_RETURN(ModelProto model, parse_file(fd));
  return import(std::move(model), folders, options);
}

absl::Status check_dims(std::string_view bytes, const tensor::Binding& dims) {
  TF_ASSIGN_OR_RETURN(const ModelProto model, parse(bytes));
  const ImportOptions options{.dims = dims};
  return Importer({}, options).check_dims(model.graph());
}

std::vector<std::string> supported_operators() {
  return operators_with_rules();
}

}  // namespace tf::onnx
