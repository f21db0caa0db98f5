#pragma once
// Owns: tensors whose data stand in files beside the model: where these may lie, reading them, and putting
// them inside the model. Does not know: what the tensors are for.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace onnx {
class TensorProto;
}

namespace tf::onnx {

// Where a model's external data may lie: below the folder of its path, or below that of the file which the
// path links to (model caches keep every file in one folder and link to it). Locations are relative to the
// first. Both are empty for a model in memory, whose data can be in no other file.
struct DataFolders {
  std::string of_path, of_file;
};
DataFolders data_folders(const std::string& model_path);

// The `want` bytes of an external tensor. INVALID_ARGUMENT for a location outside the folders, and for a file
// that is missing, is not a regular file, or does not have these bytes; the message names the file.
absl::StatusOr<std::string> read_external(const ::onnx::TensorProto& proto, const DataFolders& folders,
                                          int64_t want);

// The model's bytes with all external data inside: the same bytes if there are none. INVALID_ARGUMENT as
// above and for bytes that are not a model; FAILED_PRECONDITION if the whole would have more than
// `most_bytes`.
absl::StatusOr<std::string> with_data_inside(std::string_view model, const DataFolders& folders,
                                             int64_t most_bytes);

}  // namespace tf::onnx
