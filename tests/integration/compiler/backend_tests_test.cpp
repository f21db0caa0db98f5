// All of ONNX's own tests of operators, by `compiler check`.
#include <filesystem>
#include <map>
#include <sstream>
#include <vector>

#include "tests/integration/compiler/commands.h"

namespace tf {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// By test, the words of the answer with which it is refused.
std::map<std::string, std::string> refused_tests() {
  std::istringstream text(*read_file(TF_SOURCE_DIR "/tests/integration/compiler/refused_backend_tests.txt"));
  std::map<std::string, std::string> refused;
  for (std::string line; std::getline(text, line);) {
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#') continue;
    EXPECT_NE(colon, std::string::npos) << line;
    refused[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return refused;
}

// Each of the package's tests passes, or is refused as the list says: nothing crashes, and nothing is wrong.
TEST_F(Commands, OnnxBackendTestsPassOrAreRefused) {
  const fs::path data = "/usr/share/libonnx-testdata/data";
  if (!fs::exists(data)) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::map<std::string, std::string> refused = refused_tests();
  int checked = 0;
  for (const char* folder : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    std::string folders;
    int count = 0;
    for (const auto& entry : fs::directory_iterator(data / folder)) {
      folders += " " + entry.path().string();
      ++count;
    }
    const Answer answer = run("check" + folders);
    std::istringstream lines(answer.out);
    for (std::string line; std::getline(lines, line); ++checked, --count) {
      const size_t end = std::min(line.find(": "), line.size());
      const std::string path = line.substr(5, end - 5), name = path.substr(path.rfind("/test_") + 6);
      const auto listed = refused.find(name);
      if (listed == refused.end()) {
        EXPECT_TRUE(line.starts_with("ok  ")) << line;
        continue;
      }
      EXPECT_THAT(line, testing::AllOf(testing::StartsWith("FAIL"), HasSubstr(listed->second)));
      refused.erase(listed);
    }
    EXPECT_EQ(count, 0) << folder << ": there is not one line for each test; " << answer.err;
  }
  for (const auto& [name, words] : refused) ADD_FAILURE() << "there is no test " << name;
  EXPECT_GE(checked, 1072);
}

}  // namespace
}  // namespace tf
