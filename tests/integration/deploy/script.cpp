#include "tests/integration/deploy/script.h"

#include <sys/wait.h>

#include <cstdio>

namespace tf::deploy_test {

Ended run(const std::string& command) {
  Ended ended;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  char chunk[512];
  while (std::fgets(chunk, sizeof chunk, pipe) != nullptr) ended.output += chunk;
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

std::string source(const std::string& path) {
  return std::string(TF_SOURCE_DIR) + "/deploy/" + path;
}

}  // namespace tf::deploy_test
