#include "compiler/frontends/onnx/external_data.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "compiler/frontends/onnx/tensor_proto.h"
#include "compiler/graph/graph.h"

namespace tf::onnx {
namespace {

using ::onnx::GraphProto;
using ::onnx::TensorProto;
namespace fs = std::filesystem;

struct External {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;  // to the file's end
};

absl::StatusOr<External> external_entries(const TensorProto& proto) {
  External found;
  for (const auto& entry : proto.external_data()) {
    bool good = true;
    if (entry.key() == "location") found.location = entry.value();
    if (entry.key() == "offset") good = absl::SimpleAtoi(entry.value(), &found.offset) && found.offset >= 0;
    if (entry.key() == "length") good = absl::SimpleAtoi(entry.value(), &found.length) && found.length >= 0;
    if (!good)
      return absl::InvalidArgumentError(absl::StrCat("external data has a bad ", printable(entry.key()), " '",
                                                     printable(entry.value()), "'"));
  }
  if (found.location.empty()) return absl::InvalidArgumentError("external data without a location");
  return found;
}

// Whether the path, without links, lies below the folder.
bool is_below(const fs::path& path, const std::string& folder) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  return !error && std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

// The file of that location, without links.
absl::StatusOr<fs::path> allowed_path(const std::string& location, const DataFolders& folders) {
  if (folders.of_path.empty())
    return absl::InvalidArgumentError("external data is not read here: put the data inside the model");
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::path(folders.of_path) / location, error);
  const bool is_allowed = !error && !fs::path(location).is_absolute() &&
                          (is_below(path, folders.of_path) || is_below(path, folders.of_file));
  if (is_allowed) return path;
  return absl::InvalidArgumentError(
      absl::StrCat("external data '", printable(location), "' is not inside the model's folder"));
}

// Bytes that the tensor's type and shape want.
absl::StatusOr<int64_t> wanted_bytes(const TensorProto& proto) {
  TF_ASSIGN_OR_RETURN(const tensor::Element element, element_from_onnx(proto.data_type()));
  const std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  TF_ASSIGN_OR_RETURN(const int64_t elements, graph::element_count(shape));
  return elements * tensor::element_bytes(element);
}

// Calls `visit` with every tensor of the graph that a file may hold, those of inner graphs among them.
template <typename Visit>
absl::Status for_each_tensor(GraphProto& graph, const Visit& visit);

template <typename Visit>
absl::Status for_each_tensor(::onnx::SparseTensorProto& sparse, const Visit& visit) {
  if (sparse.has_values()) TF_RETURN_IF_ERROR(visit(*sparse.mutable_values()));
  return sparse.has_indices() ? visit(*sparse.mutable_indices()) : absl::OkStatus();
}

template <typename Visit>
absl::Status for_each_tensor(::onnx::AttributeProto& attribute, const Visit& visit) {
  if (attribute.has_t()) TF_RETURN_IF_ERROR(visit(*attribute.mutable_t()));
  for (TensorProto& tensor : *attribute.mutable_tensors()) TF_RETURN_IF_ERROR(visit(tensor));
  if (attribute.has_g()) TF_RETURN_IF_ERROR(for_each_tensor(*attribute.mutable_g(), visit));
  for (GraphProto& inner : *attribute.mutable_graphs()) TF_RETURN_IF_ERROR(for_each_tensor(inner, visit));
  if (attribute.has_sparse_tensor())
    TF_RETURN_IF_ERROR(for_each_tensor(*attribute.mutable_sparse_tensor(), visit));
  for (::onnx::SparseTensorProto& sparse : *attribute.mutable_sparse_tensors())
    TF_RETURN_IF_ERROR(for_each_tensor(sparse, visit));
  return absl::OkStatus();
}

template <typename Visit>
absl::Status for_each_tensor(GraphProto& graph, const Visit& visit) {
  for (TensorProto& tensor : *graph.mutable_initializer()) TF_RETURN_IF_ERROR(visit(tensor));
  for (::onnx::SparseTensorProto& sparse : *graph.mutable_sparse_initializer())
    TF_RETURN_IF_ERROR(for_each_tensor(sparse, visit));
  for (::onnx::NodeProto& node : *graph.mutable_node())
    for (::onnx::AttributeProto& attribute : *node.mutable_attribute())
      TF_RETURN_IF_ERROR(for_each_tensor(attribute, visit));
  return absl::OkStatus();
}

// Of the model's functions and training, too.
template <typename Visit>
absl::Status for_each_tensor(::onnx::ModelProto& model, const Visit& visit) {
  TF_RETURN_IF_ERROR(for_each_tensor(*model.mutable_graph(), visit));
  for (::onnx::FunctionProto& function : *model.mutable_functions())
    for (::onnx::NodeProto& node : *function.mutable_node())
      for (::onnx::AttributeProto& attribute : *node.mutable_attribute())
        TF_RETURN_IF_ERROR(for_each_tensor(attribute, visit));
  for (::onnx::TrainingInfoProto& training : *model.mutable_training_info()) {
    TF_RETURN_IF_ERROR(for_each_tensor(*training.mutable_initialization(), visit));
    TF_RETURN_IF_ERROR(for_each_tensor(*training.mutable_algorithm(), visit));
  }
  return absl::OkStatus();
}

bool parse(std::string_view bytes, ::onnx::ModelProto& model) {
  return bytes.size() <= INT32_MAX && model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

bool is_external(const TensorProto& tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

}  // namespace

absl::StatusOr<std::string> ExternalData::read(const TensorProto& proto, int64_t want) {
  TF_ASSIGN_OR_RETURN(const External external, external_entries(proto));
  TF_ASSIGN_OR_RETURN(const fs::path path, allowed_path(external.location, folders_));
  const std::string name = printable(external.location);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return absl::InvalidArgumentError(absl::StrCat(name, " does not exist"));
  if (fs::is_directory(status)) return absl::InvalidArgumentError(absl::StrCat(name, " is a folder"));
  if (!fs::is_regular_file(status))
    return absl::InvalidArgumentError(absl::StrCat(name, " is not a regular file"));
  if (external.length >= 0 && external.length != want)
    return absl::InvalidArgumentError(absl::StrCat("the model stores ", external.length, " bytes in ", name,
                                                   ", but the tensor's type and shape need ", want));
  const auto file_bytes = static_cast<int64_t>(fs::file_size(path, error));
  if (error) return absl::InvalidArgumentError(absl::StrCat("cannot read ", name, ": ", error.message()));
  if (external.offset > file_bytes || want > file_bytes - external.offset)
    return absl::InvalidArgumentError(absl::StrCat(name, " has ", file_bytes, " bytes, but the tensor needs ",
                                                   want, " at offset ", external.offset));
  int64_t& taken_bytes = taken_bytes_[path.string()];
  if (want > kMostReads * file_bytes - taken_bytes)
    return absl::InvalidArgumentError(absl::StrCat("the model's tensors take more than ", kMostReads,
                                                   " times the ", file_bytes, " bytes of ", name,
                                                   ": let them share less of it"));
  taken_bytes += want;
  std::string bytes(static_cast<size_t>(want), '\0');
  std::ifstream in(path, std::ios::binary);
  in.seekg(external.offset);
  if (!in.read(bytes.data(), want)) return absl::InvalidArgumentError(absl::StrCat("cannot read ", name));
  return bytes;
}

absl::StatusOr<std::string> with_data_inside(std::string_view bytes, const DataFolders& folders,
                                             int64_t most_bytes) {
  ::onnx::ModelProto model;
  if (!parse(bytes, model)) return absl::InvalidArgumentError("not a whole ONNX model");
  ExternalData external(folders);
  auto total = static_cast<int64_t>(bytes.size());
  bool any = false;
  const absl::Status put = for_each_tensor(model, [&](TensorProto& tensor) -> absl::Status {
    if (!is_external(tensor)) return absl::OkStatus();
    absl::StatusOr<int64_t> want = wanted_bytes(tensor);
    if (want.ok() && (total += *want) > most_bytes)
      return absl::FailedPreconditionError(
          absl::StrCat("with its external data the model has more than ", most_bytes >> 20, " MiB"));
    absl::StatusOr<std::string> data =
        want.ok() ? external.read(tensor, *want) : absl::StatusOr<std::string>(want.status());
    if (!data.ok())
      return absl::Status(data.status().code(), absl::StrCat("initializer '", printable(tensor.name()),
                                                             "': ", data.status().message()));
    tensor.set_raw_data(*std::move(data));
    tensor.clear_external_data();
    tensor.clear_data_location();
    any = true;
    return absl::OkStatus();
  });
  TF_RETURN_IF_ERROR(put);
  return any ? model.SerializeAsString() : std::string(bytes);
}

absl::Status check_data_inside(std::string_view bytes) {
  ::onnx::ModelProto model;
  if (!parse(bytes, model)) return absl::OkStatus();
  return for_each_tensor(model, [](const TensorProto& tensor) {
    if (!is_external(tensor)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the data of tensor '", printable(tensor.name()),
                     "' are in another file: put them inside the model, as `tuner submit` does"));
  });
}

}  // namespace tf::onnx
