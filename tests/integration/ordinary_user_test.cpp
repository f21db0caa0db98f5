// The first tuning of a user without root's rights and without a control group of their own.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "base/files/file.h"
#include "tests/integration/tuning_fixture.h"

namespace tf::integration_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OrdinaryUser : public Tuning {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    Tuning::SetUp();
    // Everybody may enter the folder and write there; the programs must be readable for them.
    fs::permissions(fs::path(file("mlp.onnx")).parent_path(), fs::perms::all);
    if (run_as_nobody("true", {}).code != 0) GTEST_SKIP() << "setpriv cannot start programs as another user";
    if (run_as_nobody("test", {"-x", farm_test::program("tuner")}).code != 0)
      GTEST_SKIP() << "other users may not enter " << farm_test::program("");
  }

  // `program` by its path, or one of the system's by its name.
  Result run_as_nobody(const std::string& program, std::vector<std::string> arguments) {
    const std::string log = file("as_nobody" + std::to_string(++runs_));
    std::vector<std::string> command = {
        "/usr/bin/setpriv", "--reuid=65534",     "--regid=65534", "--clear-groups",
        "/usr/bin/env",     "HOME=/nonexistent", program};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const int code = farm_test::Process(command, log, log + ".err").wait();
    return {code, read_file(log).value_or(""), read_file(log + ".err").value_or("")};
  }
  Result tune(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"tune", file("mlp.onnx"), "--target", "host",
                                          "--db", file("t.db"),     "--trials", "5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_as_nobody(farm_test::program("tuner"), arguments);
  }

 private:
  int runs_ = 0;
};

TEST_F(OrdinaryUser, TunesWithoutControlGroupsAndIsToldSoInOneLine) {
  const Result result = tune();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_GE(measured("t.db"), 5);
  EXPECT_THAT(result.err, HasSubstr("warning: candidates run without "));
  EXPECT_THAT(result.err, HasSubstr("pids-cgroup, memory-cgroup"));
  EXPECT_THAT(result.err, HasSubstr("Delegate=yes"));
}

TEST_F(OrdinaryUser, WhoAsksForTheWholeSandboxIsRefused) {
  const Result result = tune({"--without-sandbox", "nothing"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("candidates run in a sandbox"));
  EXPECT_EQ(measured("t.db"), 0);
}

TEST_F(OrdinaryUser, TunerDoctorFindsTheMachineFitAndNamesWhatIsMissing) {
  const Result result = run_as_nobody(farm_test::program("tuner"), {"doctor"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("weak    sandbox"));
  EXPECT_THAT(result.out, HasSubstr("pids-cgroup, memory-cgroup"));
}

TEST_F(OrdinaryUser, AnAgentThatRunsCodeOfOthersNeedsTheWholeSandbox) {
  const std::vector<std::string> doctor = {
      "doctor", "--tracker", farm_test::free_endpoint().text(), "--key", "box", "--state-dir", file("agent")};
  const Result result = run_as_nobody(farm_test::program("device_agent"), doctor);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, HasSubstr("FAILED  sandbox"));
  EXPECT_THAT(result.out, HasSubstr("pids-cgroup, memory-cgroup")) << "one line for both";
}

}  // namespace
}  // namespace tf::integration_test
