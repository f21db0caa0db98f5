#pragma once
// Owns: the models of submitted jobs, in a folder beside the database, each named by its digest: a job
// survives a restart of the tuner, and a model that is submitted twice is kept once. Does not know: what is
// in a model.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/digest.h"

namespace tf::service {

class ModelFiles {
 public:
  // The folder is DATABASE.models, made when the first model comes.
  explicit ModelFiles(std::string_view database_path);

  // Keeps the bytes, durably; the path of the file.
  absl::StatusOr<std::string> put(const Digest& digest, std::string_view bytes) const;

 private:
  std::string folder_;
};

}  // namespace tf::service
