#pragma once
// Owns: tensors whose data stand in files beside the model: reading them, and putting
// them inside the model. Does not know: what the tensors are for.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "compiler/frontends/frontend.h"

namespace onnx {
class TensorProto;
}

namespace tf::onnx {

using frontends::DataFolders;

// The external data of one model.
class ExternalData {
 public:
  explicit ExternalData(DataFolders folders) : folders_(std::move(folders)) {}

  // The `want` bytes of an external tensor. INVALID_ARGUMENT for a location outside the folders, for a file
  // that is missing, is not a regular file, or does not have these bytes, and if the model's tensors take more
  // of a file than kMostReads times its size; the message names the file.
  absl::StatusOr<std::string> read(const ::onnx::TensorProto& proto, int64_t want);

  // Tensors may share bytes, but each has a copy: so a small file cannot ask for all memory.
  static constexpr int64_t kMostReads = 4;

 private:
  const DataFolders folders_;
  std::map<std::string, int64_t> taken_bytes_;  // by the file's path
};

// The model's bytes with all external data inside: the same bytes if there are none. INVALID_ARGUMENT as
// above and for bytes that are not a model; FAILED_PRECONDITION if the whole would have more than
// `most_bytes`.
absl::StatusOr<std::string> with_data_inside(std::string_view model, const DataFolders& folders,
                                             int64_t most_bytes);

// INVALID_ARGUMENT, with the tensor's name, for a model that names external data, wherever in the model. OK for
// bytes that are not a model, which cannot be imported either.
absl::Status check_data_inside(std::string_view model);

}  // namespace tf::onnx
