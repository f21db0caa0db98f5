#include "compiler/onnx/import.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/status.h"
#include "compiler/graph/rewrite.h"
#include "compiler/graph/verify.h"
#include "compiler/onnx/attributes.h"
#include "compiler/onnx/external_data.h"
#include "compiler/onnx/node_order.h"
#include "compiler/onnx/node_reader.h"
#include "compiler/onnx/other_formats.h"
#include "compiler/onnx/tensor_proto.h"

namespace tf::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::ValueInfoProto;
namespace fs = std::filesystem;

constexpr int kOldestOpset = 1;
constexpr int kNewestOpset = 22;

std::map<std::string, Rule> all_rules() {
  std::map<std::string, Rule> rules;
  for (auto table : {network_rules(), quantized_rules(), arithmetic_rules(), shape_rules(), constant_rules()})
    for (const NamedRule& entry : table) rules.emplace(entry.op_type, entry.rule);
  return rules;
}

class Importer {
 public:
  Importer(DataFolders folders, const ImportOptions& options)
      : options_(options), state_(std::move(folders)) {
    state_.makeable_bytes = options.most_made_bytes;
  }

  absl::StatusOr<graph::Graph> run(const ModelProto& model) {
    TF_RETURN_IF_ERROR(check_header(model));
    const GraphProto& proto = model.graph();
    state_.graph.name = printable(proto.name());
    TF_ASSIGN_OR_RETURN(const std::vector<const NodeProto*> nodes, ordered_nodes(proto));
    TF_RETURN_IF_ERROR(initializers(proto));
    for (const ValueInfoProto& input : proto.input()) {
      if (state_.values.contains(input.name())) continue;
      if (auto fixed = options_.fixed.find(input.name()); fixed != options_.fixed.end()) {
        const graph::HostTensor& value = fixed->second;
        state_.values[input.name()] = state_.graph.add_constant(
            graph::tensor_type(value.element, value.shape), value.data, printable(input.name()));
        continue;
      }
      TF_RETURN_IF_ERROR(this->input(input));
    }
    TF_RETURN_IF_ERROR(check_dims());
    for (const NodeProto* node : nodes) TF_RETURN_IF_ERROR(this->node(*node));
    for (const ValueInfoProto& output : proto.output()) {
      auto found = state_.values.find(output.name());
      if (found == state_.values.end())
        return absl::InvalidArgumentError(
            absl::StrCat("output '", printable(output.name()), "' is not produced by any node"));
      state_.graph.outputs.push_back({printable(output.name()), found->second});
    }
    TF_RETURN_IF_ERROR(graph::verify(state_.graph));
    return graph::remove_dead_code(state_.graph);
  }

  absl::Status check_dims(const GraphProto& proto) {
    std::set<std::string> constants;
    for (const ::onnx::TensorProto& tensor : proto.initializer()) constants.insert(tensor.name());
    for (const ValueInfoProto& input : proto.input())
      if (!constants.contains(input.name())) TF_RETURN_IF_ERROR(extents_of(input).status());
    return check_dims();
  }

 private:
  absl::Status check_header(const ModelProto& model) {
    for (const auto& opset : model.opset_import()) {
      if (opset.domain().empty() || opset.domain() == "ai.onnx")
        state_.opset = static_cast<int>(std::clamp<int64_t>(opset.version(), 0, 1000));
    }
    if (state_.opset < kOldestOpset || state_.opset > kNewestOpset)
      return absl::InvalidArgumentError(
          absl::StrCat("the model is of operator set ", state_.opset, "; ", kOldestOpset, " to ",
                       kNewestOpset, " are supported: convert it with onnx.version_converter"));
    if (model.graph().sparse_initializer_size() > 0)
      return absl::UnimplementedError("the model has sparse initializers, which are not supported");
    return absl::OkStatus();
  }

  absl::Status initializers(const GraphProto& proto) {
    for (const ::onnx::TensorProto& tensor : proto.initializer()) {
      absl::StatusOr<graph::HostTensor> value = from_proto(tensor, state_.external);
      if (!value.ok())
        return absl::InvalidArgumentError(
            absl::StrCat("initializer '", printable(tensor.name()), "': ", value.status().message()));
      state_.values[tensor.name()] = state_.graph.add_constant(
          graph::tensor_type(value->element, value->shape), std::move(value->data), printable(tensor.name()));
    }
    return absl::OkStatus();
  }

  absl::Status input(const ValueInfoProto& info) {
    TF_ASSIGN_OR_RETURN(auto extents, extents_of(info));
    absl::StatusOr<tensor::Element> element = element_from_onnx(info.type().tensor_type().elem_type());
    if (!element.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("input '", printable(info.name()), "': ", element.status().message()));
    graph::TensorType result{*element, std::move(extents)};
    if (absl::Status status = graph::element_count(state_.graph.shape(result)).status(); !status.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("input '", printable(info.name()), "': ", status.message()));
    state_.values[info.name()] = state_.graph.add_input(std::move(result), printable(info.name()));
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<tensor::Expr>> extents_of(const ValueInfoProto& info) {
    if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape())
      return absl::InvalidArgumentError(
          absl::StrCat("input '", printable(info.name()), "' is not a tensor of known rank"));
    const auto& shape = info.type().tensor_type().shape();
    std::vector<tensor::Expr> extents;
    for (int i = 0; i < shape.dim_size(); ++i) {
      const auto& dim = shape.dim(i);
      if (dim.has_dim_value() && dim.dim_value() >= 0) {
        extents.push_back(tensor::imm(dim.dim_value()));
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
    std::string clean;  // a name of our text form
    for (char c : name) clean += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    if (clean.empty() || std::isdigit(static_cast<unsigned char>(clean[0]))) clean.insert(0, "d_");
    while (state_.graph.binding.contains(clean)) clean += '_';
    auto given = options_.dims.find(name);
    if (given == options_.dims.end()) given = options_.dims.find(clean);
    if (given == options_.dims.end())
      return absl::InvalidArgumentError(absl::StrCat("dimension '", printable(name), "' (axis ", axis,
                                                     " of input '", printable(input),
                                                     "') has no value: give one, as in --dim ", clean, "=1"));
    used_.insert(given->first);
    tensor::Dimension dim{tensor::var(clean)};
    if (given->second < dim.low || given->second > dim.high)
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", clean, "=", given->second, " is outside [", dim.low, ", ", dim.high, "]"));
    state_.graph.binding[clean] = given->second;
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

  absl::Status node(const NodeProto& proto) {
    static const std::map<std::string, Rule> kRules = all_rules();
    NodeReader reader(proto, state_);
    const bool standard = proto.domain().empty() || proto.domain() == "ai.onnx";
    auto rule = kRules.find(proto.op_type());
    if (!standard)
      return reader.unsupported(
          absl::StrCat("operators of domain '", printable(proto.domain()), "' are not supported"));
    if (rule == kRules.end()) return reader.unsupported("this operator is not supported");
    if (proto.output_size() == 0) return reader.invalid("it has no output");
    if (const std::string mistake = attribute_mistake(proto, state_.opset); !mistake.empty())
      return reader.invalid(mistake);
    TF_ASSIGN_OR_RETURN(NodeId result, rule->second(reader));
    reader.set_output(0, result);
    for (int i = 0; i < proto.output_size(); ++i) {
      if (reader.has_output(i) && !state_.values.contains(proto.output(i)))
        return reader.unsupported(
            absl::StrCat("its output ", i, ", '", printable(proto.output(i)), "', is not supported"));
    }
    return absl::OkStatus();
  }

  const ImportOptions& options_;
  ImportState state_;
  std::map<std::string, tensor::Var> dims_;
  std::set<std::string> used_;
};

absl::Status not_a_model(std::string_view bytes, const char* otherwise) {
  const std::string format = other_format(bytes);
  return absl::InvalidArgumentError(format.empty() ? absl::StrCat("not a whole ONNX model: ", otherwise)
                                                   : absl::StrCat("not an ONNX model (", format, ")"));
}

absl::StatusOr<ModelProto> parse(std::string_view bytes) {
  ModelProto model;
  if (bytes.empty()) return absl::InvalidArgumentError("the file is empty, not an ONNX model");
  if (bytes.size() > INT32_MAX)
    return absl::InvalidArgumentError("the file is over 2 GiB, ONNX's limit: keep weights as external data");
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return not_a_model(bytes, "truncated, or in another format");
  if (!model.has_graph() || model.graph().output_size() == 0)
    return not_a_model(bytes, "it has no graph with outputs");
  return model;
}

absl::StatusOr<graph::Graph> import_from(std::string_view bytes, DataFolders folders,
                                         const ImportOptions& options) {
  TF_ASSIGN_OR_RETURN(const ModelProto model, parse(bytes));
  return Importer(std::move(folders), options).run(model);
}

// The file that was meant by the folder: model.onnx, or the only one that is called so.
std::string model_in(const std::string& folder) {
  std::error_code error;
  if (fs::is_regular_file(fs::path(folder) / "model.onnx", error)) return fs::path(folder) / "model.onnx";
  std::vector<std::string> models;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".onnx") models.push_back(entry.path());
  return models.size() == 1 ? models.front() : "";
}

}  // namespace

absl::StatusOr<graph::Graph> import_model_bytes(std::string_view bytes, const std::string& folder,
                                                const ImportOptions& options) {
  return import_from(bytes, {folder, folder}, options);
}

absl::StatusOr<std::string> read_model_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return read_file(path);
  const std::string meant = model_in(path);
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is a folder: give ", meant.empty() ? "the model's .onnx file" : meant));
}

absl::StatusOr<graph::Graph> import_model(const std::string& path, const ImportOptions& options) {
  TF_ASSIGN_OR_RETURN(const std::string bytes, read_model_file(path));
  absl::StatusOr<graph::Graph> graph =
      import_from(bytes, options.reads_external_data ? data_folders(path) : DataFolders(), options);
  if (!graph.ok())
    return absl::Status(graph.status().code(), absl::StrCat(path, ": ", graph.status().message()));
  return graph;
}

absl::Status check_dims(std::string_view bytes, const tensor::Binding& dims) {
  TF_ASSIGN_OR_RETURN(const ModelProto model, parse(bytes));
  const ImportOptions options{.dims = dims};
  return Importer({}, options).check_dims(model.graph());
}

std::vector<std::string> supported_operators() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : all_rules()) names.push_back(name);
  return names;
}

}  // namespace tf::onnx
