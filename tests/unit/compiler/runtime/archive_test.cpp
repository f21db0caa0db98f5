// The archive that goes into every model may need libc and nothing else: no libstdc++, no sanitizer, no
// libgcc.

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>
#include <string>

namespace {

std::set<std::string> symbols(const std::string& command) {
  std::set<std::string> found;
  FILE* pipe = popen(command.c_str(), "r");
  char name[512];
  while (std::fscanf(pipe, "%511s", name) == 1) found.insert(name);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return found;
}

void expect_to_need_libc_alone(const std::string& archive, const std::string& compiler) {
  const auto needed = symbols("nm -u --format=posix " + archive + " | awk 'NF > 1 {print $1}'");
  const auto defined = symbols("nm --defined-only --format=posix " + archive + " | awk 'NF > 1 {print $1}'");
  const auto libc = symbols(
      "for lib in libc.so.6 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-linux-armhf.so.3 "
      "ld-linux-riscv64-lp64d.so.1; do path=$(" +
      compiler +
      " -print-file-name=$lib); test -e $path && nm -D --defined-only --format=posix $path; done | "
      "awk '{sub(/@.*/, \"\", $1); print $1}'");
  ASSERT_GT(needed.size(), 10u);
  ASSERT_GT(libc.size(), 1000u);
  const std::set<std::string> of_the_model = {"tf_model_blob", "tf_model_kernels", "tf_model_weights",
                                              "tf_model_features", "_GLOBAL_OFFSET_TABLE_"};
  for (const std::string& name : needed) {
    EXPECT_TRUE(libc.contains(name) || defined.contains(name) || of_the_model.contains(name)) << name;
  }
}

TEST(RuntimeArchive, NeedsOnlyLibcAndTheModelsOwnTables) {
  expect_to_need_libc_alone(TF_RUNTIME_MODEL_ARCHIVE, TF_C_COMPILER);
}

TEST(RuntimeArchive, ForOtherProcessorsNeedsNothingElse) {
  std::istringstream all(TF_FOREIGN_ARCHIVES);
  std::string each;
  while (all >> each) {
    std::istringstream parts(each);
    std::string arch, archive, compiler;
    std::getline(std::getline(std::getline(parts, arch, '|'), archive, '|'), compiler);
    SCOPED_TRACE(arch);
    expect_to_need_libc_alone(archive, compiler);
  }
}

}  // namespace
