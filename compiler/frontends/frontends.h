#pragma once
// Owns: the table of front ends, and reading a network with the one that accepts the file's content. Does not
// know: any format.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "compiler/frontends/frontend.h"

namespace tf::frontends {

// The formats' names, for a sentence: "ONNX".
std::string format_names();

// The graph of a model in memory, whose data are all inside. Errors as Frontend's; INVALID_ARGUMENT for bytes
// of no format that is read here, with what they look like.
absl::StatusOr<graph::Graph> import_model(std::string_view bytes, const ImportOptions& options);

// The same for a file; the path begins the message. External data are read from data_folders(path) alone.
absl::StatusOr<graph::Graph> import_file(const std::string& path, const ImportOptions& options);

// The bytes of a model's file, whatever they are. As base's read_file; INVALID_ARGUMENT for a folder, with
// the file in it that may have been meant.
absl::StatusOr<std::string> read_model_file(const std::string& path);

// As Frontend's functions of these names; INVALID_ARGUMENT as of import_model.
absl::Status check_dims(std::string_view bytes, const tensor::Binding& dims);
absl::StatusOr<std::string> with_data_inside(std::string_view bytes, const std::string& path,
                                             int64_t most_bytes);
// OK for bytes that are not a model, which cannot be imported either.
absl::Status check_data_inside(std::string_view bytes);

}  // namespace tf::frontends
