#include "compiler/driver/runtime_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"

namespace tf::driver {
namespace {

using target::Arch;
using testing::HasSubstr;

class RuntimeArchive : public testing::Test {
 protected:
  absl::StatusOr<std::string> of(const char* target, Arch built_on = Arch::kX86_64) const {
    return runtime_archive_of(*target::parse_target(target), built_on, folder_.file("lib.a"));
  }
  void expect_refused(const char* target, const char* words, Arch built_on = Arch::kX86_64) const {
    const absl::Status status = of(target, built_on).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(RuntimeArchive, OfThisProcessorIsTheBuildsOwn) {
  EXPECT_EQ(*of("x86_64:cpu=znver4"), folder_.file("lib.a"));
  EXPECT_EQ(*of("aarch64", Arch::kAArch64), folder_.file("lib.a"));
}

TEST_F(RuntimeArchive, OfAnotherProcessorStandsInItsFolder) {
  std::filesystem::create_directory(folder_.file("armv7"));
  ASSERT_TRUE(write_file(folder_.file("armv7/lib.a"), "!<arch>\n").ok());
  EXPECT_EQ(*of("armv7:cpu=cortex-a9"), folder_.file("armv7/lib.a"));
}

TEST_F(RuntimeArchive, ThatIsNotThereIsMadeByACompilerAsDebianNamesIt) {
  expect_refused("aarch64:cpu=cortex-a72", "install the cross compiler g++-aarch64-linux-gnu,");
  expect_refused("armv7:cpu=cortex-a9", "install the cross compiler g++-arm-linux-gnueabihf,");
  expect_refused("riscv64", "install the cross compiler g++-riscv64-linux-gnu,");
  expect_refused("riscv64", "/riscv64/lib.a, which does not exist");
}

TEST_F(RuntimeArchive, ThatNoCompilerMakesIsNotAskedFor) {
  expect_refused("x86_64", "build the model on such a machine", Arch::kAArch64);
  expect_refused("wasm32", "build for x86_64, aarch64, armv7 or riscv64");
}

}  // namespace
}  // namespace tf::driver
