#include "compiler/frontends/frontends.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/files/owned_fd.h"
#include "base/status.h"
#include "compiler/frontends/onnx/import.h"
#include "compiler/frontends/other_formats.h"

namespace tf::frontends {
namespace {

namespace fs = std::filesystem;

// The first that accepts a file reads it.
const Frontend* const kFrontends[] = {
    &onnx::kFrontend,
};

std::string joined(const char* Frontend::*text) {
  return absl::StrJoin(kFrontends, " or ",
                       [text](std::string* out, const Frontend* one) { out->append(one->*text); });
}

absl::StatusOr<const Frontend*> frontend_of(std::string_view bytes) {
  const auto* const found =
      std::ranges::find_if(kFrontends, [&](const Frontend* frontend) { return frontend->accepts(bytes); });
  if (found != std::end(kFrontends)) return *found;
  const std::string names = format_names();
  if (bytes.empty())
    return absl::InvalidArgumentError(absl::StrCat("the file is empty, not an ", names, " model"));
  const std::string format = other_format(bytes);
  return absl::InvalidArgumentError(
      format.empty() ? absl::StrCat("not a whole ", names, " model: truncated, or in another format")
                     : absl::StrCat("not an ", names, " model (", format, ")"));
}

absl::StatusOr<graph::Graph> import_from(std::string_view bytes, const DataFolders& folders,
                                         const ImportOptions& options) {
  TF_ASSIGN_OR_RETURN(const Frontend* frontend, frontend_of(bytes));
  return frontend->import_model(bytes, folders, options);
}

// What tells formats apart stands at a file's beginning, but for odd files.
constexpr int64_t kBeginningBytes = 1 << 16;

// From the open file alone, if it is one whose format its beginning tells.
absl::StatusOr<std::optional<graph::Graph>> import_in_parts(const std::string& path,
                                                            const DataFolders& folders,
                                                            const ImportOptions& options) {
  struct stat there;
  // A pipe can be opened once only: what its writer gave would be lost.
  if (::stat(path.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) return std::nullopt;
  const OwnedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.get() < 0 || ::fstat(file.get(), &there) != 0 || !S_ISREG(there.st_mode)) return std::nullopt;
  std::string beginning(static_cast<size_t>(std::min<int64_t>(there.st_size, kBeginningBytes)), '\0');
  if (::pread(file.get(), beginning.data(), beginning.size(), 0) != std::ssize(beginning))
    return std::nullopt;
  const absl::StatusOr<const Frontend*> frontend = frontend_of(beginning);
  if (!frontend.ok()) return std::nullopt;
  TF_ASSIGN_OR_RETURN(graph::Graph graph, (*frontend)->import_file(file.get(), folders, options));
  return graph;
}

// The file that was meant by the folder: model.onnx, or the only one that is called so.
std::string model_in(const std::string& folder) {
  const auto has_suffix = [](const fs::path& file) {
    return std::ranges::any_of(kFrontends,
                               [&](const Frontend* one) { return file.extension() == one->suffix; });
  };
  std::vector<std::string> models;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!has_suffix(entry.path()) || !entry.is_regular_file(error)) continue;
    if (entry.path().stem() == "model") return entry.path();
    models.push_back(entry.path());
  }
  return models.size() == 1 ? models.front() : "";
}

}  // namespace

std::string format_names() {
  return joined(&Frontend::name);
}

absl::StatusOr<graph::Graph> import_model(std::string_view bytes, const ImportOptions& options) {
  return import_from(bytes, {}, options);
}

absl::StatusOr<graph::Graph> import_file(const std::string& path, const ImportOptions& options) {
  const DataFolders folders = options.reads_external_data ? data_folders(path) : DataFolders();
  const auto with_path = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  };
  absl::StatusOr<std::optional<graph::Graph>> in_parts = import_in_parts(path, folders, options);
  if (!in_parts.ok()) return with_path(in_parts.status());
  if (*in_parts) return **std::move(in_parts);
  TF_ASSIGN_OR_RETURN(const std::string bytes, read_model_file(path));
  absl::StatusOr<graph::Graph> graph = import_from(bytes, folders, options);
  if (!graph.ok()) return with_path(graph.status());
  return graph;
}

absl::StatusOr<std::string> read_model_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return read_file(path);
  const std::string meant = model_in(path);
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is a folder: give ",
                   meant.empty() ? absl::StrCat("the model's ", joined(&Frontend::suffix), " file") : meant));
}

absl::Status check_dims(std::string_view bytes, const tensor::Binding& dims) {
  TF_ASSIGN_OR_RETURN(const Frontend* frontend, frontend_of(bytes));
  return frontend->check_dims(bytes, dims);
}

absl::StatusOr<std::string> with_data_inside(std::string_view bytes, const std::string& path,
                                             int64_t most_bytes) {
  TF_ASSIGN_OR_RETURN(const Frontend* frontend, frontend_of(bytes));
  return frontend->with_data_inside(bytes, data_folders(path), most_bytes);
}

absl::Status check_data_inside(std::string_view bytes) {
  const absl::StatusOr<const Frontend*> frontend = frontend_of(bytes);
  return frontend.ok() ? (*frontend)->check_data_inside(bytes) : absl::OkStatus();
}

}  // namespace tf::frontends
