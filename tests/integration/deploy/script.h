#pragma once
// Owns: running the scripts of deploy/ as people do. Does not know: what they do.

#include <string>

namespace tf::deploy_test {

struct Ended {
  int code = -1;  // -1: it ended otherwise than by exiting
  std::string output;
};

// A shell command to its end; both streams are its output.
Ended run(const std::string& command);

// A file of deploy/ in the source tree.
std::string source(const std::string& path);

}  // namespace tf::deploy_test
