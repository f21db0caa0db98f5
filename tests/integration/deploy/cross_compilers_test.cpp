// cmake/cross.cmake in a project of its own: a compiler that comes or goes between two configurations is noticed.
#include <unistd.h>

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/integration/deploy/script.h"

namespace tf::deploy_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCompiler = "riscv64-linux-gnu-g++";

class CrossCompilers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access((std::string("/usr/bin/") + kCompiler).c_str(), X_OK) == 0)
      GTEST_SKIP() << kCompiler << " is installed, so it cannot come and go";
    ASSERT_TRUE(write_file(folder_.file("CMakeLists.txt"),
                           "cmake_minimum_required(VERSION 3.25)\nproject(cross NONE)\n"
                           "include(" TF_SOURCE_DIR "/cmake/cross.cmake)\n")
                    .ok());
    fs::create_directory(folder_.file("bin"));
  }

  // Whether the next configuration of the same build folder uses the compiler.
  bool configured(const std::string& environment = "") {
    const Ended ended = run(environment + " PATH=" + folder_.file("bin") + ":$PATH cmake -G Ninja -S " +
                            folder_.path() + " -B " + folder_.file("build"));
    EXPECT_EQ(ended.code, 0) << ended.output;
    return ended.output.find("riscv64") != std::string::npos;
  }
  void install() {
    ASSERT_TRUE(write_file(compiler_, "#!/bin/sh\n").ok());
    fs::permissions(compiler_, fs::perms::owner_all);
  }
  void remove() { fs::remove(compiler_); }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string compiler_ = folder_.file(std::string("bin/") + kCompiler);
};

TEST_F(CrossCompilers, AreNoticedWhenTheyComeAndForgottenWhenTheyGo) {
  EXPECT_FALSE(configured());
  install();
  EXPECT_TRUE(configured());
  EXPECT_TRUE(configured()) << "found before";
  remove();
  EXPECT_FALSE(configured());
}

TEST_F(CrossCompilers, CanBeHiddenFromOneConfiguration) {
  install();
  EXPECT_TRUE(configured());
  EXPECT_FALSE(configured("TF_NO_CROSS_COMPILERS=1"));
  EXPECT_TRUE(configured());
}

}  // namespace
}  // namespace tf::deploy_test
