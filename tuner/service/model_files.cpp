#include "tuner/service/model_files.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"

namespace tf::service {

ModelFiles::ModelFiles(std::string_view database_path) : folder_(std::string(database_path) + ".models") {}

absl::StatusOr<std::string> ModelFiles::put(const Digest& digest, std::string_view bytes) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot make the folder ", folder_, " for models: ", error.message()));
  }
  const std::string path = absl::StrCat(folder_, "/", digest.hex(), ".onnx");
  // write_file replaces in one step, so that a file of the right size is the right file.
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size == bytes.size()) return path;
  TF_RETURN_IF_ERROR(write_file(path, bytes));
  return path;
}

}  // namespace tf::service
