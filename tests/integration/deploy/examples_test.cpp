// Every example builds and runs from the source tree.
#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/integration/deploy/script.h"

namespace tf::deploy_test {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

class Example : public ::testing::Test {
 protected:
  Ended run_example(const std::string& name, const std::string& environment = "") {
    return run("TUNEFARM_BUILD=" TF_BINARY_DIR " " + environment + " " TF_SOURCE_DIR "/examples/" + name +
               "/run.sh " + folder_.path());
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string folder() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(Example, InCRunsAModel) {
  const Ended ended = run_example("c");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, ContainsRegex("class [0-9] with score 0\\.[0-9]+"));
}

TEST_F(Example, WithCMakeBuildsTheModelWithTheProject) {
  const Ended ended = run_example("cmake");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, ContainsRegex("class [0-9] of 10"));
}

TEST_F(Example, WithAStaticArchiveRunsWithoutALibrary) {
  const Ended ended = run_example("static");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, ContainsRegex("class 9: 0\\.[0-9]+"));
}

TEST_F(Example, OfASchedulesByHandGivesRightAnswersInVectors) {
  const Ended ended = run_example("schedule");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, ContainsRegex("plain\\.so .*ms  largest error .*e-0[5-9]"));
  EXPECT_THAT(ended.output, ContainsRegex("tiled\\.so .*ms  largest error .*e-0[5-9]"));
}

TEST_F(Example, OfAFarmTunesBuildsAndLeavesNothingRunning) {
  const Ended ended = run_example("farm", "TRIALS=10");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_TRUE(fs::exists(file("tuned/model.so")));
  EXPECT_EQ(
      run("for p in /proc/[0-9]*; do [ \"$(readlink $p/cwd)\" != " + folder() + " ] || echo $p; done").output,
      "");
}

TEST_F(Example, OfAFarmEndsWhenItsAgentDies) {
  fs::create_directories(file("bin"));
  ASSERT_TRUE(write_file(file("bin/tunefarm"),
                         "#!/bin/sh\ncase \"$1 $2\" in\n"
                         "*serve) echo 'listening on 127.0.0.1:1'; exec sleep 60;;\n"
                         "device_agent*) echo 'no sandbox here'; exit 1;;\nesac\n")
                  .ok());
  fs::permissions(file("bin/tunefarm"), fs::perms::owner_all);
  const Ended ended = run("env -u TUNEFARM_BUILD PATH=" + file("bin") +
                          ":$PATH timeout 20 " TF_SOURCE_DIR "/examples/farm/run.sh " + file("work"));
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.output, HasSubstr("agent does not register: no sandbox here\n"));
}

TEST(Examples, EachHasAReadmeThatTheListNames) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(TF_SOURCE_DIR "/examples")) {
    if (!entry.is_directory()) continue;
    ++count;
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(fs::exists(entry.path() / "README.md")) << name;
    EXPECT_EQ(run("grep -qF '(" + name + "/README.md)' " TF_SOURCE_DIR "/examples/README.md").code, 0)
        << name;
  }
  EXPECT_GE(count, 5);
}

}  // namespace
}  // namespace tf::deploy_test
