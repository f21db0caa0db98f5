#include "base/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/version.h"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

// What a program with two commands says to a command line.
std::string said(const std::string& arguments) {
  CLI::App app("Cuts things", "saw");
  app.require_subcommand(1);
  std::string wood, glue;
  int64_t cuts = 0;
  uint64_t seed = 0;
  double depth = 0;
  std::vector<std::string> grains;
  bool slow = false;
  CLI::App* cut = app.add_subcommand("cut", "Cut it");
  cut->add_option("wood", wood)->required();
  cut->add_option("--cuts", cuts)->check(CLI::Range(1, 9));
  cut->add_option("--passes", cuts);
  cut->add_option("--seed", seed);
  cut->add_option("--depth", depth);
  cut->add_option("--grain", grains);
  cut->add_flag("--slow", slow);
  CLI::App* join = app.add_subcommand("join", "Join it");
  join->add_option("--glue", glue)->required();
  tf::refuse_no_values(app);
  try {
    // Split here, because the library drops words that are empty; '' is one. It takes the last word first.
    std::vector<std::string> words = absl::StrSplit(arguments, ' ', absl::SkipEmpty());
    std::replace(words.begin(), words.end(), std::string("''"), std::string());
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return tf::describe_mistake(app, error);
  }
  return "";
}

TEST(CommandLine, NamesTheOptionThatWasMeant) {
  EXPECT_EQ(said("cut oak --ctus 3"),
            "saw cut: there is no option --ctus; did you mean --cuts? see `saw cut --help`");
  EXPECT_THAT(said("cut oak --ctus=3"), HasSubstr("no option --ctus; did you mean --cuts?"));
}

TEST(CommandLine, BlamesNotTheTwoDashesAfterWhichThereAreNoOptions) {
  EXPECT_EQ(said("cut -- ''"),
            "saw cut: wood: the value is empty: give one, or omit the option; see `saw cut --help`");
}

TEST(CommandLine, GuessesNothingThatIsFar) {
  EXPECT_EQ(said("cut oak --polish"), "saw cut: there is no option --polish; see `saw cut --help`");
}

TEST(CommandLine, BlamesTheMisspeltOptionNotTheOneThatIsMissing) {
  EXPECT_EQ(said("join --gleu x"),
            "saw join: there is no option --gleu; did you mean --glue? see `saw join --help`");
}

TEST(CommandLine, NamesTheCommandThatWasMeantAndAllThereAre) {
  EXPECT_EQ(said("cot"),
            "saw: there is no command 'cot'; did you mean cut? There are cut, join; see `saw --help`");
  EXPECT_EQ(said("polish"), "saw: there is no command 'polish'. There are cut, join; see `saw --help`");
  EXPECT_EQ(said(""), "saw: give a command: cut, join; see `saw --help`");
}

TEST(CommandLine, SaysWhichCommandWantsWhat) {
  EXPECT_EQ(said("cut"), "saw cut: wood is required; see `saw cut --help`");
  EXPECT_EQ(said("cut oak elm"), "saw cut: 'elm' is one argument too many; see `saw cut --help`");
  EXPECT_THAT(said("cut oak --cuts 10"), StartsWith("saw cut: --cuts: Value 10 not in range"));
}

TEST(CommandLine, OfAProgramThatNeedsNoCommandNamesTheValueThatIsWrong) {
  CLI::App app("Sands things", "sander");
  int grit = 0;
  std::string key;
  app.add_option("--grit", grit)->check(CLI::Range(40, 400));
  app.add_option("--key", key);
  app.add_subcommand("doctor", "Check it");
  const auto said = [&](const std::string& arguments) -> std::string {
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError& error) {
      return tf::describe_mistake(app, error);
    }
    return "";
  };
  EXPECT_THAT(said("--grit 7"), StartsWith("sander: --grit: Value 7 not in range"));
  EXPECT_THAT(said("--key"), StartsWith("sander: --key: "));
  EXPECT_EQ(
      said("doktor"),
      "sander: there is no command 'doktor'; did you mean doctor? There are doctor; see `sander --help`");
}

TEST(CommandLine, RefusesValuesThatAreEmpty) {
  EXPECT_EQ(said("join --glue ''"),
            "saw join: --glue: the value is empty: give one, or omit the option; see `saw join --help`");
  EXPECT_THAT(said("cut ''"), StartsWith("saw cut: wood: the value is empty"));
  EXPECT_THAT(said("cut oak --passes ''"), HasSubstr("--passes: the value is empty"));
  EXPECT_THAT(said("cut oak --grain a ''"), HasSubstr("--grain: the value is empty"));
}

TEST(CommandLine, RefusesNumbersThatItWouldWrapOrCutOff) {
  EXPECT_THAT(said("cut oak --seed -1"), StartsWith("saw cut: --seed: '-1' is below 0;"));
  EXPECT_THAT(said("cut oak --seed 18446744073709551616"), HasSubstr("is too large"));
  EXPECT_THAT(said("cut oak --passes 9223372036854775808"), HasSubstr("is too large"));
  EXPECT_EQ(said("cut oak --passes -9223372036854775808 --seed 18446744073709551615"), "");
}

TEST(CommandLine, RefusesWhatIsNoNumber) {
  EXPECT_EQ(said("cut oak --passes x"), "saw cut: --passes: 'x' is not a whole number; see `saw cut --help`");
  EXPECT_THAT(said("cut oak --seed 3x"), HasSubstr("--seed: '3x' is not a whole number"));
  EXPECT_THAT(said("cut oak --passes 2.5"), HasSubstr("'2.5' is not a whole number"));
  EXPECT_THAT(said("cut oak --depth deep"), HasSubstr("--depth: 'deep' is not a number"));
  EXPECT_EQ(said("cut oak --depth 2.5 --passes 0x10"), "");
}

TEST(AboveZero, AllowsFiniteNumbersAboveZeroAlone) {
  for (const char* text : {"1", "0.5", "1e-300"}) EXPECT_EQ(tf::above_zero(text), "") << text;
  for (const char* text : {"0", "-0.0", "-1", "nan", "inf", "x", "1x"})
    EXPECT_EQ(tf::above_zero(text), absl::StrCat("'", text, "' is not a finite number above 0"));
}

TEST(CommandLine, TellsTheVersionBeforeAnythingElseIsAskedFor) {
  const std::string own(tf::version());
  EXPECT_THAT(own, testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  EXPECT_EQ(tf::version_line("saw", {}), absl::StrCat("saw ", own));
  CLI::App app("Cuts things", "saw");
  app.require_subcommand(1);
  app.add_subcommand("cut", "Cut it");
  std::string program = "saw", flag = "--version";
  char* words[] = {program.data(), flag.data(), nullptr};
  testing::internal::CaptureStdout();
  const std::optional<int> done = tf::parse_command_line(app, 2, words, {{"wood", 3}, {"glue", 2}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), absl::StrCat("saw ", own, " (wood 3, glue 2)\n"));
  EXPECT_EQ(done, 0);
}

TEST(CommandLine, TellsTheVersionOfACommandAlsoWithoutWhatItNeeds) {
  CLI::App app("Cuts things", "saw");
  app.require_subcommand(1);
  std::string wood;
  CLI::App& cut = *app.add_subcommand("cut", "Cut it");
  cut.add_option("wood", wood)->required();
  std::string program = "saw", command = "cut", flag = "--version";
  char* words[] = {program.data(), command.data(), flag.data(), nullptr};
  testing::internal::CaptureStdout();
  const std::optional<int> done = tf::parse_command_line(app, 3, words);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), absl::StrCat("saw ", std::string(tf::version()), "\n"));
  EXPECT_EQ(done, 0);
  EXPECT_THAT(cut.help(), testing::Not(HasSubstr("--version")));
}

TEST(CommandLine, ShowsNumbersAndChoicesPlainlyInHelp) {
  CLI::App app("Cuts things", "saw");
  CLI::App& cut = *app.add_subcommand("cut", "Cut it");
  unsigned passes = 2;
  int teeth = 8;
  double depth = 1;
  std::string grain = "along";
  cut.add_option("--passes", passes, "Passes")
      ->check(CLI::Range(1U, std::numeric_limits<uint32_t>::max()))
      ->capture_default_str();
  cut.add_option("--teeth", teeth, "Teeth [all]")->check(CLI::Range(1, 9))->capture_default_str();
  cut.add_option("--depth", depth, "Depth")->capture_default_str();
  cut.add_option("--grain", grain, "Direction")->check(CLI::IsMember({"along", "across"}));
  std::string program = "saw", command = "cut", flag = "--help";
  char* words[] = {program.data(), command.data(), flag.data(), nullptr};
  testing::internal::CaptureStdout();
  EXPECT_EQ(tf::parse_command_line(app, 3, words), 0);
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_THAT(help, HasSubstr("--passes N=2 "));
  EXPECT_THAT(help, HasSubstr("--teeth N=8 "));
  EXPECT_THAT(help, HasSubstr("Teeth (1 to 9) [all]"));
  EXPECT_THAT(help, HasSubstr("--depth NUMBER=1 "));
  EXPECT_THAT(help, HasSubstr("--grain along|across "));
  EXPECT_THAT(help, testing::Not(HasSubstr("[1 - ")));
}

TEST(CommandLine, HasNoHelpOfACommandThatIsNone) {
  CLI::App app("Cuts things", "saw");
  app.require_subcommand(1);
  app.add_subcommand("cut", "Cut it");
  std::string program = "saw", command = "polish", flag = "--help";
  char* words[] = {program.data(), command.data(), flag.data(), nullptr};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(tf::parse_command_line(app, 3, words), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "saw: there is no command 'polish'. There are cut; see `saw --help`\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(CommandLine, KnowsWhatOtherProgramsCallACommand) {
  const auto said_to = [](const std::string& word) {
    CLI::App app("Serves jobs", "tuner");
    app.require_subcommand(1);
    for (const char* name : {"jobs", "best", "cancel", "serve"}) app.add_subcommand(name, "");
    try {
      app.parse(word);
    } catch (const CLI::ParseError& error) {
      return tf::describe_mistake(app, error);
    }
    return std::string();
  };
  EXPECT_THAT(said_to("list"), HasSubstr("'list'; did you mean jobs?")) << "best is nearer in letters";
  EXPECT_THAT(said_to("status"), HasSubstr("did you mean jobs?"));
  EXPECT_THAT(said_to("kill"), HasSubstr("did you mean cancel?"));
  EXPECT_THAT(said_to("compile"), testing::Not(HasSubstr("did you mean build?"))) << "it has no such command";
}

TEST(CommandLine, ShowsHelpForTheWordHelp) {
  const std::vector<std::vector<std::string>> lines = {
      {"help"}, {"help", "cut"}, {"cut", "help"}, {"cut", "across", "help"}};
  const std::vector<std::string> wanted = {"Cuts things", "Cut it", "Cut it", "Across the grain"};
  for (size_t i = 0; i < lines.size(); ++i) {
    CLI::App app("Cuts things", "saw");
    app.require_subcommand(1);
    std::string wood;
    CLI::App* cut = app.add_subcommand("cut", "Cut it");
    cut->add_option("--wood", wood)->required();
    cut->add_subcommand("across", "Across the grain");
    std::vector<std::string> line = lines[i];
    line.insert(line.begin(), "saw");
    std::vector<char*> words;
    for (std::string& word : line) words.push_back(word.data());
    testing::internal::CaptureStdout();
    EXPECT_EQ(tf::parse_command_line(app, static_cast<int>(words.size()), words.data()), 0);
    EXPECT_THAT(testing::internal::GetCapturedStdout(), StartsWith(wanted[i]));
  }
}

TEST(CommandLine, LeavesTheWordHelpToACommandThatHasMoreOfAnArgument) {
  CLI::App app("Cuts things", "saw");
  std::string wood, output;
  CLI::App* cut = app.add_subcommand("cut", "Cut it");
  cut->add_option("wood", wood)->required();
  cut->add_option("-o", output);
  std::vector<std::string> line = {"saw", "cut", "help", "-o", "x"};
  std::vector<char*> words;
  for (std::string& word : line) words.push_back(word.data());
  EXPECT_EQ(tf::parse_command_line(app, static_cast<int>(words.size()), words.data()), std::nullopt);
  EXPECT_EQ(wood, "help");
}

TEST(CommandLineDeathTest, AnExceptionOfALibraryThatNobodyCatchesEndsTheProgramWithALine) {
  CLI::App app("Cuts things", "saw");
  std::string program = "saw";
  char* words[] = {program.data(), nullptr};
  const auto die = [&] {
    (void)tf::parse_command_line(app, 1, words);
    std::thread([] { throw std::runtime_error("eventfd: Too many open files"); }).join();
  };
  EXPECT_EXIT(die(), testing::ExitedWithCode(1), "^saw: eventfd: Too many open files\n$");
}

TEST(CommandLineDeathTest, TooFewOpenFilesAreSaidBeforeTheWorkBegins) {
  CLI::App app("Cuts things", "saw");
  std::string program = "saw";
  char* words[] = {program.data(), nullptr};
  const auto die = [&] {
    const rlimit few = {16, 16};
    setrlimit(RLIMIT_NOFILE, &few);
    std::exit(tf::parse_command_line(app, 1, words).value_or(99));
  };
  EXPECT_EXIT(die(), testing::ExitedWithCode(1),
              "^saw: the limit of open files is 16 and this process needs 64 or more: raise it, for example "
              "with `ulimit -n 1024`\n$");
  const auto raise_own = [&] {
    const rlimit soft = {16, 512};
    setrlimit(RLIMIT_NOFILE, &soft);
    std::exit(tf::parse_command_line(app, 1, words).value_or(99));
  };
  EXPECT_EXIT(raise_own(), testing::ExitedWithCode(99), "") << "the program raises its own limit";
}

TEST(CommandLine, NamesTheCommandThatWasGiven) {
  CLI::App app("Cuts things", "saw");
  EXPECT_EQ(tf::command_name(app), "saw");
  app.add_subcommand("cut", "Cut it")->add_subcommand("across", "Across the grain");
  app.parse("cut across");
  EXPECT_EQ(tf::command_name(app), "saw cut across");
}

TEST(CommandLine, SaysNothingToWhatItUnderstands) {
  EXPECT_EQ(said("cut oak --cuts 3 --slow --grain a b"), "");
}

}  // namespace
