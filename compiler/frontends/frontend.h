#pragma once
// Owns: Frontend, what a file format of networks offers: how to recognise it by content and read it as a
// graph. Does not know: which front ends there are.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/host_tensor.h"

namespace tf::frontends {

// Values of the model's named dimensions, as given by --dim NAME=N. An axis that the model leaves without
// size or name is called INPUT_dimAXIS.
struct ImportOptions {
  tensor::Binding dims;
  // Extents of inputs, by name: named dimensions without a value get theirs from the first input that has them.
  std::map<std::string, std::vector<int64_t>> shapes;
  // Of inputs that are sequences, by name: how many tensors each has, which become inputs NAME.0, NAME.1, …; of those
  // that are optional, nothing where they hold nothing, and 1 for a tensor. A length is also taken from `dims`, by the input's
  // name.
  std::map<std::string, std::optional<int64_t>> lengths;
  // What operators find whose results' sizes depend on data, by the dimension's name (graph/found.h); the most that they
  // can find where nothing is said.
  tensor::Binding found;
  // Inputs that become constants of the model, by name; and those whose values a user wrote, as in "16000" or "1,2,3".
  std::map<std::string, graph::HostTensor> fixed;
  std::map<std::string, std::string> given;
  // Values inside the model that become further outputs, by name.
  std::vector<std::string> outputs;
  // Most bytes of constants that the file describes (as ONNX's ConstantOfShape) instead of holding, in all,
  // so that a small file cannot ask for all memory.
  int64_t most_made_bytes = int64_t{4} << 30;
  // False: a model with external data is refused, because its folder holds files of others.
  bool reads_external_data = true;
};

// Where a model's external data may lie: below the folder of its path, or below that of the file which the
// path links to (model caches keep every file in one folder and link to it). Locations are relative to the
// first. Both are empty for a model in memory, whose data can be in no other file.
struct DataFolders {
  std::string of_path, of_file;
};
DataFolders data_folders(const std::string& model_path);

// Every function takes bytes that are not trusted, and answers a mistake in one line. All but `accepts` are
// called only with bytes that it accepts.
struct Frontend {
  const char* name;    // the format's, as in "not a whole ONNX model"
  const char* suffix;  // of its files' usual names, to suggest the file that a folder stands for
  // Whether the content is of this format, even if it is damaged further on. Reads no more than it needs.
  bool (*accepts)(std::string_view bytes);
  // INVALID_ARGUMENT for a damaged or invalid model and for an unbound or unknown dimension (with the --dim
  // that is wanted); UNIMPLEMENTED for an operator or a form of it that we do not have (with its name).
  absl::StatusOr<graph::Graph> (*import_model)(std::string_view bytes, const DataFolders& folders,
                                               const ImportOptions& options);
  // The same for an open regular file, which it accepts by its beginning: reads all of it, and holds each
  // weight once.
  absl::StatusOr<graph::Graph> (*import_file)(int fd, const DataFolders& folders,
                                              const ImportOptions& options);
  // Whether these are values for the dimensions that the model names, all of them and no others, whatever its
  // operators are.
  absl::Status (*check_dims)(std::string_view bytes, const tensor::Binding& dims);
  // The model's bytes with all external data inside: the same bytes if there are none. FAILED_PRECONDITION if
  // the whole would have more than `most_bytes`.
  absl::StatusOr<std::string> (*with_data_inside)(std::string_view bytes, const DataFolders& folders,
                                                  int64_t most_bytes);
  // INVALID_ARGUMENT for a model that names external data.
  absl::Status (*check_data_inside)(std::string_view bytes);
};

}  // namespace tf::frontends
