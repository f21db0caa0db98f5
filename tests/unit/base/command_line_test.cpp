#include "base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace {

using testing::HasSubstr;
using testing::StartsWith;

// What a program with two commands says to a command line.
std::string said(const std::string& arguments) {
  CLI::App app("Cuts things", "saw");
  app.require_subcommand(1);
  std::string wood, glue;
  int cuts = 0;
  CLI::App* cut = app.add_subcommand("cut", "Cut it");
  cut->add_option("wood", wood)->required();
  cut->add_option("--cuts", cuts)->check(CLI::Range(1, 9));
  CLI::App* join = app.add_subcommand("join", "Join it");
  join->add_option("--glue", glue)->required();
  try {
    app.parse(arguments);
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

TEST(CommandLine, SaysNothingToWhatItUnderstands) {
  EXPECT_EQ(said("cut oak --cuts 3"), "");
}

}  // namespace
