// What install_packages.sh would install, where everything is installed already: a copy of it asks a
// dpkg-query that says so of each package, and fetches a board's libraries with a script that only tells.
#include <algorithm>
#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/integration/deploy/script.h"

namespace tf::deploy_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class InstallPackages : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"boards", "bin"}) fs::create_directory(folder_.file(folder));
    fs::copy(source("install_packages.sh"), folder_.path());
    // The script hides what dpkg-query prints, but for its answer.
    write_program("bin/dpkg-query", "echo \"package $3.\" >>" + asked_ + "; echo 'install ok installed'");
    write_program("boards/sysroot.sh", "echo \"libraries for $1.\"");
  }

  // Its output, and after that what it asked for: "package NAME." a line.
  Ended install(const std::string& options) {
    EXPECT_TRUE(write_file(asked_, "").ok());
    Ended ended = run("PATH=" + folder_.file("bin") + ":$PATH bash " + folder_.file("install_packages.sh") +
                      " " + options);
    ended.output += *read_file(asked_);
    return ended;
  }

 private:
  void write_program(const std::string& name, const std::string& body) {
    ASSERT_TRUE(write_file(folder_.file(name), "#!/bin/sh\n" + body + "\n").ok());
    fs::permissions(folder_.file(name), fs::perms::owner_all);
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string asked_ = folder_.file("asked");
};

constexpr const char* kCross = "package g++-aarch64-linux-gnu.";
constexpr const char* kCrossV7 = "package g++-arm-linux-gnueabihf.";
constexpr const char* kFuzz = "package libclang-rt-19-dev.";

TEST_F(InstallPackages, WithoutOptionsInstallsWhatTheBuildNeeds) {
  const Ended ended = install("");
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.output, AllOf(HasSubstr("package cmake."), Not(HasSubstr(kCross)), Not(HasSubstr(kFuzz)),
                                  Not(HasSubstr("libraries for"))));
}

TEST_F(InstallPackages, TakesSeveralOptionsInAnyOrder) {
  for (const char* options : {"--fuzz --boards aarch64", "--boards aarch64 --fuzz"}) {
    SCOPED_TRACE(options);
    const Ended ended = install(options);
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.output,
                AllOf(HasSubstr(kFuzz), HasSubstr(kCross), HasSubstr("package cmake."),
                      HasSubstr("libraries for aarch64."), Not(HasSubstr("libraries for armv7."))));
  }
}

TEST_F(InstallPackages, CrossInstallsACompilerForEachProcessorOfBoardsAndNoLibraries) {
  EXPECT_THAT(install("--cross").output,
              AllOf(HasSubstr(kCross), HasSubstr(kCrossV7), HasSubstr("package qemu-user."),
                    Not(HasSubstr("libraries for"))));
}

TEST_F(InstallPackages, BoardsAreAllUnlessTheyAreNamed) {
  EXPECT_THAT(
      install("--boards --fuzz").output,
      AllOf(HasSubstr(kCrossV7), HasSubstr("libraries for aarch64."), HasSubstr("libraries for armv7.")));
  EXPECT_THAT(install("--boards armv7").output,
              AllOf(HasSubstr(kCrossV7), Not(HasSubstr(kCross)), HasSubstr("libraries for armv7."),
                    Not(HasSubstr("libraries for aarch64."))));
}

TEST_F(InstallPackages, RefusesWhatItDoesNotKnowAndInstallsNothing) {
  for (const auto& [options, words] : {std::pair("--fuzz --bords", "no option '--bords'"),
                                       std::pair("--boards arm64 --fuzz", "no board 'arm64'"),
                                       std::pair("--cross aarch64", "no option 'aarch64'")}) {
    const Ended ended = install(options);
    EXPECT_EQ(ended.code, 2) << options;
    EXPECT_THAT(ended.output, AllOf(HasSubstr(words), HasSubstr("usage: "), Not(HasSubstr("package "))));
    EXPECT_EQ(std::ranges::count(ended.output, '\n'), 1) << ended.output;
  }
}

}  // namespace
}  // namespace tf::deploy_test
