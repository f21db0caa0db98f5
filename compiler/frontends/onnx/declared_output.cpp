#include "compiler/frontends/onnx/declared_output.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/text/printable.h"
#include "compiler/frontends/onnx/tensor_proto.h"

namespace tf::onnx {
namespace {

using Declared = ::onnx::TypeProto_Tensor;
using Dimension = ::onnx::TensorShapeProto_Dimension;

bool is_open(const Dimension& dim) {
  return !dim.has_dim_value() || dim.dim_value() < 1;
}

bool has_open_shape(const Declared& declared) {
  return !declared.has_shape() || declared.shape().dim_size() == 0;
}

// "i64[1, ?, width]", with what is left open as "?" or by its name.
std::string text_of(const Declared& declared) {
  const absl::StatusOr<tensor::Element> element = element_from_onnx(declared.elem_type());
  std::string text = element.ok() ? std::string(tensor::element_name(*element))
                                  : absl::StrCat("element type ", declared.elem_type(), " ");
  if (declared.elem_type() == 0) text = "?";
  if (!declared.has_shape()) return text;
  const char* separator = "[";
  for (const Dimension& dim : declared.shape().dim()) {
    const std::string name = dim.dim_param().empty() ? "?" : printable(dim.dim_param());
    absl::StrAppend(&text, separator, is_open(dim) ? name : absl::StrCat(dim.dim_value()));
    separator = ", ";
  }
  return absl::StrCat(text, declared.shape().dim_size() == 0 ? "[]" : "]");
}

bool fits(const Declared& declared, const graph::Graph& graph, graph::NodeId computed) {
  const graph::TensorType& type = graph.type(computed);
  if (declared.elem_type() != 0) {
    const absl::StatusOr<tensor::Element> element = element_from_onnx(declared.elem_type());
    if (!element.ok() || *element != type.element) return false;
  }
  if (has_open_shape(declared)) return true;
  if (declared.shape().dim_size() != type.rank()) return false;
  if (!graph.dims.empty()) return true;
  const std::vector<int64_t> shape = graph.shape(type);
  for (int i = 0; i < type.rank(); ++i) {
    const Dimension& dim = declared.shape().dim(i);
    if (!is_open(dim) && dim.dim_value() != shape[i]) return false;
  }
  return true;
}

}  // namespace

absl::Status check_declared_output(const ::onnx::ValueInfoProto& output, const graph::Graph& graph,
                                   graph::NodeId computed) {
  const ::onnx::TypeProto& type = output.type();
  if (type.value_case() == ::onnx::TypeProto::VALUE_NOT_SET) return absl::OkStatus();
  if (type.has_tensor_type() && fits(type.tensor_type(), graph, computed)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output '", printable(output.name()), "' is declared as ",
                   type.has_tensor_type() ? text_of(type.tensor_type()) : "no tensor",
                   ", but its nodes compute ", graph::to_string(graph.type(computed)),
                   ": correct the declared type in the model, or export it again"));
}

}  // namespace tf::onnx
