// What a board gets: the install script, tried on a folder in place of a system, and the units, read by
// systemd.
#include <unistd.h>

#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/integration/deploy/script.h"

namespace tf::deploy_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class InstallScript : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(package_);
    for (const char* file :
         {"boards/install.sh", "boards/device_agent.txtpb", "systemd/device_agent.service"})
      fs::copy(source(file), package_);
    for (const char* file : {"README", "LICENSES", "device_agent", "trial_worker", "gpu_worker"})
      ASSERT_TRUE(write_file(package_ + "/" + file, "version 1").ok());
  }
  Ended install(const std::string& arguments = "") {
    return run(package_ + "/install.sh " + arguments + " --root " + root_);
  }
  std::string installed(const std::string& path) { return read_file(root_ + path).value_or("(not there)"); }
  // Files and links that are left of all folders.
  std::vector<std::string> left() {
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      if (!entry.is_directory() || entry.is_symlink())
        paths.push_back("/" + fs::relative(entry.path(), root_).string());
    }
    return paths;
  }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
  const std::string package_ = folder_.file("package"), root_ = folder_.file("root");

 protected:
  const std::string& package() const { return package_; }
  const std::string& root() const { return root_; }
};

constexpr const char* kConfiguration = "/etc/tunefarm/device_agent.txtpb";

TEST_F(InstallScript, InstallsProgramsUnitAndConfiguration) {
  const Ended ended = install();
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("edit"));
  for (const char* program : {"/usr/local/lib/tunefarm/device_agent", "/usr/local/lib/tunefarm/trial_worker",
                              "/usr/local/lib/tunefarm/gpu_worker", "/usr/local/bin/device_agent"})
    EXPECT_EQ(access((root() + program).c_str(), X_OK), 0) << program;
  EXPECT_THAT(installed("/etc/systemd/system/device_agent.service"), HasSubstr("WatchdogSec="));
  EXPECT_THAT(installed(kConfiguration), HasSubstr("tracker:"));
}

TEST_F(InstallScript, ASecondRunReplacesProgramsAndKeepsTheConfiguration) {
  ASSERT_EQ(install().code, 0);
  ASSERT_TRUE(write_file(root() + kConfiguration, "key: \"mine\"\n").ok());
  ASSERT_TRUE(write_file(package() + "/device_agent", "version 2").ok());
  const Ended ended = install();
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(installed(kConfiguration), "key: \"mine\"\n");
  EXPECT_EQ(installed("/usr/local/lib/tunefarm/device_agent"), "version 2");
}

TEST_F(InstallScript, WhatAnEarlierVersionKeptElsewhereBecomesTheAgentsOwn) {
  fs::create_directories(root() + "/var/lib/tunefarm/agent");
  fs::create_directories(root() + "/var/lib/tunefarm/tls");
  fs::create_directories(root() + "/etc/tunefarm");
  ASSERT_TRUE(write_file(root() + "/var/lib/tunefarm/agent/id", "box").ok());
  ASSERT_TRUE(write_file(root() + "/var/lib/tunefarm/tls/key.pem", "secret").ok());
  ASSERT_TRUE(write_file(root() + "/var/lib/tunefarm/tracker.db", "another's").ok());
  ASSERT_TRUE(write_file(root() + kConfiguration,
                         "# state_dir: \"/var/lib/tunefarm/other\"\nkey: \"mine\"\n"
                         "state_dir: \"/var/lib/tunefarm/agent\"  # here\n  tls: \"/var/lib/tunefarm/tls\"\n")
                  .ok());
  for (const char* time : {"first", "second"}) {
    const Ended ended = install();
    EXPECT_EQ(ended.code, 0) << time << ended.output;
    EXPECT_EQ(installed(kConfiguration),
              "# state_dir: \"/var/lib/tunefarm/other\"\nkey: \"mine\"\n"
              "state_dir: \"/var/lib/tunefarm-agent/state\"  # here\n"
              "tls: \"/var/lib/tunefarm-agent/tls\"\n")
        << time;
    EXPECT_EQ(installed("/var/lib/tunefarm-agent/state/id"), "box") << time;
    EXPECT_EQ(installed("/var/lib/tunefarm-agent/tls/key.pem"), "secret") << time;
  }
  EXPECT_EQ(installed("/var/lib/tunefarm/tracker.db"), "another's");
  EXPECT_FALSE(fs::exists(root() + "/var/lib/tunefarm/agent"));
}

TEST_F(InstallScript, RefusesToChooseBetweenTwoStates) {
  for (const char* folder : {"/var/lib/tunefarm/agent", "/var/lib/tunefarm-agent/state", "/etc/tunefarm"})
    fs::create_directories(root() + folder);
  ASSERT_TRUE(write_file(root() + kConfiguration, "state_dir: \"/var/lib/tunefarm/agent\"\n").ok());
  const Ended ended = install();
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.output, HasSubstr("remove the one that does not belong to this board"));
  EXPECT_TRUE(fs::exists(root() + "/var/lib/tunefarm/agent"));
}

TEST_F(InstallScript, UninstallingKeepsTheConfigurationAndPurgingNothing) {
  ASSERT_EQ(install().code, 0);
  EXPECT_EQ(install("--uninstall").code, 0);
  EXPECT_THAT(left(), testing::ElementsAre(kConfiguration));
  EXPECT_EQ(install("--purge").code, 0);
  EXPECT_THAT(left(), testing::IsEmpty());
  EXPECT_EQ(install("--purge").code, 0) << "what is not there is no error";
}

TEST_F(InstallScript, PurgingLeavesWhatBelongsToTheOtherDaemons) {
  const std::vector<std::string> others = {"/etc/tunefarm/tracker.txtpb",
                                           "/var/lib/tunefarm-tracker/tracker.db",
                                           "/var/lib/tunefarm-tuner/tuning.db", "/var/lib/tunefarm/own"};
  ASSERT_EQ(install().code, 0);
  for (const std::string& path : others) {
    fs::create_directories(fs::path(root() + path).parent_path());
    ASSERT_TRUE(write_file(root() + path, "theirs").ok());
  }
  fs::create_directories(root() + "/var/lib/tunefarm-agent/state");
  ASSERT_TRUE(write_file(root() + "/var/lib/tunefarm-agent/state/agent_id", "box").ok());
  EXPECT_EQ(install("--purge").code, 0);
  EXPECT_THAT(left(), testing::UnorderedElementsAreArray(others));
}

TEST_F(InstallScript, RefusesAnUnknownArgument) {
  const Ended ended = install("--purgee");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, HasSubstr("--uninstall"));
}

class Unit : public ::testing::TestWithParam<const char*> {};

TEST_P(Unit, IsUnderstoodBySystemdToTheLastLine) {
  if (access("/usr/bin/systemd-analyze", X_OK) != 0 ||
      access("/lib/systemd/system/sysinit.target", R_OK) != 0)
    GTEST_SKIP() << "there is no systemd here to read it";
  const std::string name = std::string(GetParam()) + ".service";
  std::string unit = read_file(source("systemd/" + name)).value_or("");
  // The program is not installed here, and that alone would be a mistake.
  const size_t start = unit.find("ExecStart=");
  ASSERT_NE(start, std::string::npos);
  unit.replace(start, unit.find('\n', start) - start, "ExecStart=/bin/true");
  const TemporaryFolder folder = *TemporaryFolder::make();
  ASSERT_TRUE(write_file(folder.file(name), unit).ok());
  const Ended ended = run("systemd-analyze verify --man=no " + folder.file(name));
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, "");
}

TEST(PowerCycleDropIn, IsUnderstoodBySystemdWithAllItsLinesTaken) {
  if (access("/usr/bin/systemd-analyze", X_OK) != 0 ||
      access("/lib/systemd/system/sysinit.target", R_OK) != 0)
    GTEST_SKIP() << "there is no systemd here to read it";
  const TemporaryFolder folder = *TemporaryFolder::make();
  std::string unit = *read_file(source("systemd/tracker.service"));
  const size_t start = unit.find("ExecStart=");
  unit.replace(start, unit.find('\n', start) - start, "ExecStart=/bin/true");
  // Behind the section are comments, which begin with "# ", and lines to take, which begin with '#'.
  std::string drop_in = *read_file(source("systemd/tracker_power_cycle.conf"));
  drop_in = drop_in.substr(drop_in.find("[Service]"));
  int taken = 0;
  for (size_t at = drop_in.find("\n#"); at != std::string::npos; at = drop_in.find("\n#", at + 1)) {
    if (drop_in[at + 2] == ' ') continue;
    drop_in.erase(at + 1, 1);
    ++taken;
  }
  EXPECT_GE(taken, 9);
  EXPECT_THAT(drop_in, HasSubstr("\nSystemCallFilter=@resources @chown\n"));
  fs::create_directory(folder.file("tracker.service.d"));
  ASSERT_TRUE(write_file(folder.file("tracker.service"), unit).ok());
  ASSERT_TRUE(write_file(folder.file("tracker.service.d/power_cycle.conf"), drop_in).ok());
  const Ended ended = run("systemd-analyze verify --man=no " + folder.file("tracker.service"));
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, "");
}

INSTANTIATE_TEST_SUITE_P(Daemons, Unit, ::testing::Values("device_agent", "tracker", "tuner"),
                         [](const auto& each) { return std::string(each.param); });

TEST(AgentsConfiguration, ExampleAndUnitBelongTogether) {
  const std::string unit = *read_file(source("systemd/device_agent.service"));
  const std::string example = *read_file(source("boards/device_agent.txtpb"));
  EXPECT_THAT(unit, HasSubstr(std::string("--config ") + kConfiguration));
  EXPECT_THAT(unit, HasSubstr("StateDirectory=tunefarm-agent\n"));
  EXPECT_THAT(example, HasSubstr("state_dir: \"/var/lib/tunefarm-agent/"));
  EXPECT_THAT(*read_file(source("boards/install.sh")), HasSubstr("\nuser=tunefarm-agent\n"));
}

// The value of a line "NAME=VALUE" of the unit.
std::string setting(const std::string& unit, const std::string& name) {
  const std::string text = "\n" + *read_file(source("systemd/" + unit + ".service"));
  const size_t at = text.find("\n" + name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Units, EachDaemonHasAUserAndAStateFolderOfItsOwnAndAWatchdog) {
  for (const auto& [unit, user] : {std::pair<std::string, std::string>{"device_agent", "tunefarm-agent"},
                                   {"tracker", "tunefarm-tracker"},
                                   {"tuner", "tunefarm-tuner"}}) {
    for (const char* name : {"User", "Group", "StateDirectory"}) EXPECT_EQ(setting(unit, name), user) << unit;
    EXPECT_EQ(setting(unit, "StateDirectoryMode"), "0700") << unit;
    EXPECT_EQ(setting(unit, "WatchdogSec"), "60") << unit;
  }
}

}  // namespace
}  // namespace tf::deploy_test
