#pragma once
// Owns: reading an ONNX model as a graph. Does not know: kernels, the tuner.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/host_tensor.h"

namespace tf::onnx {

// Values of the model's named dimensions, as given by --dim NAME=N. An axis that the model leaves without
// size or name is called INPUT_dimAXIS.
struct ImportOptions {
  tensor::Binding dims;
  // Inputs that become constants of the model, by name.
  std::map<std::string, graph::HostTensor> fixed;
  // Most bytes of constants that the file describes (ConstantOfShape) instead of holding, in all, so that a
  // small file cannot ask for all memory.
  int64_t most_made_bytes = int64_t{4} << 30;
  // False: a model with external data is refused, because its folder holds files of others.
  bool reads_external_data = true;
};

// Reads a model of operator sets 1 to 22. The file is not trusted. INVALID_ARGUMENT, in one line, for a file
// that is not a whole ONNX model, for a model that breaks ONNX's rules (with the node's name), and for an
// unbound or unknown dimension (with the --dim that is wanted); UNIMPLEMENTED for an operator or a form of it
// that we do not have (with the node's name and operator). External data is read from data_folders(path)
// alone, and of each file as much as ExternalData::kMostReads allows (external_data.h).
absl::StatusOr<graph::Graph> import_model(const std::string& path, const ImportOptions& options);

// The same for a model in memory; `folder` is where its external data may lie (empty: nowhere).
absl::StatusOr<graph::Graph> import_model_bytes(std::string_view bytes, const std::string& folder,
                                                const ImportOptions& options);

// The bytes of a model's file, whatever they are. As base's read_file; INVALID_ARGUMENT for a folder, with
// the file in it that may have been meant.
absl::StatusOr<std::string> read_model_file(const std::string& path);

// Whether these are values for the dimensions that the model names, all of them and no others, whatever its
// operators are: for who gives it to another program that may know more of these. Errors as import_model's,
// of that and of a file that is not a whole ONNX model.
absl::Status check_dims(std::string_view bytes, const tensor::Binding& dims);

// Names of the model's operator types that import has a rule for, sorted.
std::vector<std::string> supported_operators();

}  // namespace tf::onnx
