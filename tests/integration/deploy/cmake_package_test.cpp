// What tunefarm_add_model hands to the compiler, here a script that writes down its arguments.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/integration/deploy/script.h"

namespace tf::deploy_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CMakePackage : public ::testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }

  // The arguments of the compiler for a project in the folder `project` with this call.
  std::string arguments_of(const std::string& call) {
    fs::create_directories(file("project"));
    EXPECT_TRUE(write_file(file("project/net.onnx"), "").ok());
    EXPECT_TRUE(write_file(file("project/tune.db"), "").ok());
    EXPECT_TRUE(write_file(file("project/CMakeLists.txt"),
                           "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\n"
                           "find_package(tunefarm REQUIRED)\n" +
                               call)
                    .ok());
    EXPECT_TRUE(write_file(file("compiler"), "#!/bin/sh\necho \"$@\" >" + file("arguments") +
                                                 "\nfor folder; do :; done\n"
                                                 "touch \"$folder/model.so\" \"$folder/model.h\"\n")
                    .ok());
    fs::permissions(file("compiler"), fs::perms::owner_all);
    const Ended build =
        run("cmake -S " + file("project") + " -B " + file("build") +
            " -Dtunefarm_DIR=" TF_BINARY_DIR "/lib/cmake/tunefarm -DTUNEFARM_COMPILER=" + file("compiler") +
            " && cmake --build " + file("build") + " --target net_build");
    EXPECT_EQ(build.code, 0) << build.output;
    return read_file(file("arguments")).value_or("");
  }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(CMakePackage, FindsADatabaseInTheFolderOfTheProject) {
  EXPECT_THAT(arguments_of("tunefarm_add_model(net net.onnx DB tune.db)\n"),
              HasSubstr(" --db " + file("project/tune.db") + " "));
}

TEST_F(CMakePackage, LeavesADatabaseBehindATunerAsItIs) {
  EXPECT_THAT(arguments_of("tunefarm_add_model(net net.onnx DB tuner://127.0.0.1:7001)\n"),
              HasSubstr(" --db tuner://127.0.0.1:7001 "));
}

}  // namespace
}  // namespace tf::deploy_test
