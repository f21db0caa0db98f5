// Runs a fuzz target on every file of the folders that are given, once: the corpus as a test.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    const absl::StatusOr<std::string> bytes = tf::read_file(path);
    if (!bytes.ok()) {
      std::fprintf(stderr, "%s\n", std::string(bytes.status().message()).c_str());
      return 1;
    }
    std::printf("%s\n", path.c_str());  // the last one printed is the one that crashed
    std::fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size());
  }
  std::printf("%zu inputs\n", paths.size());
  return paths.empty() ? 1 : 0;
}
