// The list of operators that people read is the one that import has.
#include <algorithm>
#include <set>

#include "absl/strings/str_split.h"
#include "base/file.h"
#include "compiler/onnx/import.h"

namespace tf::onnx {
namespace {

TEST(Operators, OfTheReadmeAreThoseThatImportKnows) {
  const std::string readme = *read_file(TF_SOURCE_DIR "/compiler/onnx/README.md");
  const size_t begin = readme.find("## Operators\n"), end = readme.find("\n## ", begin + 1);
  ASSERT_NE(begin, std::string::npos);
  const std::vector<std::string> parts = absl::StrSplit(readme.substr(begin, end - begin), '`');
  std::set<std::string> listed;
  for (size_t i = 1; i < parts.size(); i += 2) listed.insert(parts[i]);
  const std::vector<std::string> known = supported_operators();
  EXPECT_THAT(listed, testing::ElementsAreArray(known));
}

}  // namespace
}  // namespace tf::onnx
