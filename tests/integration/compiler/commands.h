#pragma once
// Owns: running the `compiler` program in a folder of its own and what it answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/files/file.h"

namespace tf {

struct Answer {
  int code = -1;
  std::string out, err;
};

class Commands : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // Runs `compiler ARGUMENTS` by the shell.
  Answer run(const std::string& arguments) const {
    const std::string err = root_ + "/stderr";
    FILE* pipe = popen((TF_BINARY_DIR "/bin/compiler " + arguments + " 2> " + err).c_str(), "r");
    Answer answer;
    char buffer[4096];
    for (size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) answer.out.append(buffer, n);
    const int status = pclose(pipe);
    answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    answer.err = *read_file(err);
    return answer;
  }
  std::string file(const std::string& name) const { return root_ + "/" + name; }

  const std::string root_ = testing::TempDir() + "compiler_command_test." + std::to_string(getpid());
};

inline int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace tf
