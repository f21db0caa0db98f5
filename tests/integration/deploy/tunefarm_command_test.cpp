// The `tunefarm` command, its manual pages and its completions, over the programs of this build.
#include <filesystem>

#include "base/files/file.h"
#include "base/files/temporary_folder.h"
#include "tests/integration/deploy/script.h"

namespace tf::deploy_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Ended tunefarm(const std::string& arguments) {
  return run("TUNEFARM_PROGRAMS=" TF_BINARY_DIR "/bin " + source("package/tunefarm") + " " + arguments);
}

TEST(TunefarmCommand, RunsAProgramWithItsArgumentsAndExitCode) {
  const Ended version = tunefarm("compiler --version");
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.output, testing::StartsWith("compiler "));
  const Ended mistake = tunefarm("compiler zoo alexnet");
  EXPECT_EQ(mistake.code, 2);
  EXPECT_THAT(mistake.output, HasSubstr("no network 'alexnet'"));
}

TEST(TunefarmCommand, HelpListsThePrograms) {
  const Ended help = tunefarm("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* program : {"\n  compiler ", "\n  tuner ", "\n  tracker ", "\n  device_agent "})
    EXPECT_THAT(help.output, HasSubstr(program));
}

TEST(TunefarmCommand, SuggestsWhatWasMeant) {
  for (const auto& [word, meant] :
       {std::pair("tunner", "`tunefarm tuner`"), std::pair("complier", "`tunefarm compiler`"),
        std::pair("build", "`tunefarm compiler build`"),
        std::pair("serve", "`tunefarm tuner serve` or `tunefarm tracker serve`"),
        std::pair("agent", "`tunefarm device_agent`")}) {
    const Ended ended = tunefarm(word);
    EXPECT_EQ(ended.code, 2) << word;
    EXPECT_THAT(ended.output, HasSubstr(std::string("did you mean ") + meant + "?"));
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
  }
  EXPECT_EQ(tunefarm("").code, 2);
}

std::string programs() {
  std::string paths;
  for (const char* name : {"compiler", "tuner", "tracker", "device_agent"})
    paths += std::string(" " TF_BINARY_DIR "/bin/") + name;
  return paths;
}

TEST(ManualPages, DescribeEveryCommandAndItsOptions) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const Ended ended =
      run("python3 " + source("package/manual_pages.py") + " " + folder.path() + " 1.2.3" + programs());
  ASSERT_EQ(ended.code, 0) << ended.output;
  const std::string page = read_file(folder.file("tunefarm-compiler.1")).value_or("");
  EXPECT_THAT(page, AllOf(HasSubstr(".SS compiler build\n"), HasSubstr("\\fB\\-\\-target\\fR"),
                          HasSubstr("Tunefarm 1.2.3")));
  EXPECT_THAT(read_file(folder.file("tunefarm-tracker.1")).value_or(""), HasSubstr(".SS tracker ca init\n"));
  if (run("command -v man").code != 0) return;
  const Ended shown = run("man --warnings -l " + folder.file("tunefarm-tuner.1") + " >/dev/null");
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.output, "");
}

class Completions : public ::testing::Test {
 protected:
  void SetUp() override {
    const Ended ended =
        run("python3 " + source("package/completions.py") + " " + folder_.path() + programs());
    ASSERT_EQ(ended.code, 0) << ended.output;
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  // What bash offers for the last word, which may be empty.
  std::string offered_by_bash(const std::string& words, int count) {
    return run("bash -c 'source " + file("tunefarm.bash") + "; COMP_WORDS=(" + words +
               "); COMP_CWORD=" + std::to_string(count) + "; _tunefarm; echo \" ${COMPREPLY[*]} \"'")
        .output;
  }

 private:
  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(Completions, OfBashOfferProgramsCommandsAndOptions) {
  EXPECT_THAT(offered_by_bash("tunefarm tu", 1), HasSubstr(" tuner "));
  EXPECT_THAT(offered_by_bash("tunefarm tracker ca \"\"", 3),
              AllOf(HasSubstr(" init "), HasSubstr(" token ")));
  EXPECT_THAT(offered_by_bash("tunefarm compiler build m.onnx --tar", 4), HasSubstr(" --target "));
}

TEST_F(Completions, OfZshAndFishAreUnderstood) {
  for (const auto& [shell, name] : {std::pair("zsh", "_tunefarm"), std::pair("fish", "tunefarm.fish")}) {
    EXPECT_THAT(read_file(file(name)).value_or(""), HasSubstr("reservations"));
    if (run(std::string("command -v ") + shell).code != 0) continue;
    const Ended checked = run(std::string(shell) + " -n " + file(name));
    EXPECT_EQ(checked.code, 0) << checked.output;
  }
}

TEST(Changelog, HasTheVersionsThatProgramsPrint) {
  const std::string changelog = read_file(TF_SOURCE_DIR "/CHANGELOG.md").value_or("");
  const std::string versions = tunefarm("--version").output;
  const auto number = [&](const std::string& what) {
    const size_t at = versions.find(what + " ");
    if (at == std::string::npos) return std::string("(none)");
    const size_t begin = at + what.size() + 1;
    return versions.substr(begin, versions.find_first_of(",)", begin) - begin);
  };
  const std::string release = versions.substr(9, versions.find(' ', 9) - 9);  // "compiler 0.1.0 (…"
  EXPECT_THAT(changelog, HasSubstr("| " + release + " | " + number("farm protocol") + " | " +
                                   number("schedule semantics") + " | " + number("database schema") + " | " +
                                   number("kernel ABI") + " |"))
      << "the table in CHANGELOG.md, against what --version prints:\n"
      << versions;
}

}  // namespace
}  // namespace tf::deploy_test
