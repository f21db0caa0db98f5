#include "compiler/frontends/frontend.h"

#include <filesystem>

namespace tf::frontends {

namespace fs = std::filesystem;

DataFolders data_folders(const std::string& model_path) {
  const auto folder_of = [](const fs::path& path) {
    const std::string folder = path.parent_path().string();
    return folder.empty() ? std::string(".") : folder;
  };
  std::error_code error;
  const fs::path file = fs::canonical(model_path, error);
  return {folder_of(model_path), folder_of(error ? fs::path(model_path) : file)};
}

}  // namespace tf::frontends
