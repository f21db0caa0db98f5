#pragma once
// Owns: reading an ONNX model as a graph. Does not know: kernels, the tuner.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/frontends/frontend.h"
#include "compiler/graph/graph.h"

namespace tf::onnx {

using frontends::DataFolders;
using frontends::ImportOptions;

extern const frontends::Frontend kFrontend;

// Whether the bytes are fields of a protobuf message up to a ModelProto's graph. ONNX files have no mark of
// their own.
bool is_model(std::string_view bytes);

// Reads a model of operator sets 1 to 26. The file is not trusted. INVALID_ARGUMENT, in one line, for a file
// that is not a whole ONNX model, for a model that breaks ONNX's rules (with the node's name), and for an
// unbound or unknown dimension (with the --dim that is wanted); UNIMPLEMENTED for an operator or a form of it
// that we do not have (with the node's name and operator). External data is read from the folders
// alone, and of each file as much as ExternalData::kMostReads allows (external_data.h).
absl::StatusOr<graph::Graph> import_model(std::string_view bytes, const DataFolders& folders,
                                          const ImportOptions& options);

// The same for an open regular file.
absl::StatusOr<graph::Graph> import_file(int fd, const DataFolders& folders, const ImportOptions& options);

// Whether these are values for the dimensions that the model names, all of them and no others, whatever its
// operators are: for who gives it to another program that may know more of these. Errors as import_model's,
// of that and of a file that is not a whole ONNX model.
absl::Status check_dims(std::string_view bytes, const tensor::Binding& dims);

// Names of the model's operator types that import has a rule for, sorted.
std::vector<std::string> supported_operators();

}  // namespace tf::onnx
