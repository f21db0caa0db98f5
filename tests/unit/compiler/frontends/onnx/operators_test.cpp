// The list of operators that people read is the one that import has.
#include <algorithm>
#include <set>

#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "compiler/frontends/onnx/import.h"

namespace tf::onnx {
namespace {

TEST(Operators, OfTheReferencePageAreThoseThatImportKnows) {
  const std::string page = *read_file(TF_SOURCE_DIR "/docs/reference/onnx-operators.md");
  std::set<std::string> listed;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(page, '\n'))) {
    const std::vector<std::string> parts = absl::StrSplit(line, '`');
    if (parts.size() > 1 && parts[0] == "| ") listed.insert(parts[1]);
  }
  const std::vector<std::string> known = supported_operators();
  EXPECT_THAT(listed, testing::ElementsAreArray(known)) << "run docs/update.sh";
}

}  // namespace
}  // namespace tf::onnx
