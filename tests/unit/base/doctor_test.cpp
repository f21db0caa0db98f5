#include "base/cli/doctor.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/cli/exit_code.h"
#include "base/remedy.h"

namespace tf {
namespace {

const std::vector<Check> three = {
    {.what = "tracker", .detail = "it answers"},
    {.what = "governor", .health = Health::kWeak, .detail = "is powersave", .remedy = "set performance"},
    check_of("disk", with_remedy(absl::StatusCode::kResourceExhausted, "is full", "make room"),
             "look at it")};

TEST(Doctor, LineOfACheckHasItsRemedy) {
  EXPECT_EQ(check_line(three[0]), "ok      tracker       it answers\n");
  EXPECT_EQ(check_line(three[1]), "weak    governor      is powersave; set performance\n");
  EXPECT_EQ(check_line(three[2]), "FAILED  disk          is full; make room\n");
}

TEST(Doctor, TellsPeopleEachCheckAtOnceAndScriptsAllAtTheEnd) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* const out = open_memstream(&text, &size);
  CheckList lines(CheckList::Format::kLines, out);
  lines.add(three[0]);
  EXPECT_EQ(std::string(text, size), check_line(three[0]));
  lines.add(three[2]);
  EXPECT_EQ(lines.finish(), kExitFailed);
  std::fflush(out);
  const std::string told = check_line(three[0]) + check_line(three[2]);
  EXPECT_EQ(std::string(text, size), told);
  CheckList json(CheckList::Format::kJson, out);
  json.add(three[0]);
  std::fflush(out);
  EXPECT_EQ(std::string(text, size), told) << "an array is whole or it is none";
  EXPECT_EQ(json.finish(), kExitOk);
  std::fflush(out);
  EXPECT_EQ(std::string(text, size), told + checks_json({three[0]}));
  std::fclose(out);
  std::free(text);
}

TEST(Doctor, JsonSaysOfEachCheckWhetherItFailed) {
  const nlohmann::json all = nlohmann::json::parse(checks_json(three));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["ok"], true);
  EXPECT_EQ(all[1]["ok"], true);
  EXPECT_EQ(all[1]["health"], "weak");
  EXPECT_EQ(all[1]["remedy"], "set performance");
  EXPECT_EQ(all[2]["ok"], false);
  EXPECT_EQ(all[2]["check"], "disk");
  EXPECT_EQ(all[2]["detail"], "is full");
  EXPECT_EQ(all[2]["remedy"], "make room");
}

TEST(Doctor, FailureThatDoesNotSayWhatToDoHasARemedyAllTheSame) {
  const Check check = check_of("disk", absl::InternalError("I/O error"), "replace it");
  EXPECT_EQ(check.health, Health::kFailed);
  EXPECT_EQ(check.detail, "I/O error");
  EXPECT_EQ(check.remedy, "replace it");
  EXPECT_EQ(check_of("disk", std::string("is there"), "replace it").remedy, "") << "nothing failed";
}

TEST(Doctor, OnlyAFailureFailsTheCommand) {
  EXPECT_EQ(exit_code_of(three), kExitFailed);
  EXPECT_EQ(exit_code_of({three[0], three[1]}), kExitOk);
  EXPECT_EQ(exit_code_of({}), kExitOk);
}

TEST(Doctor, LetsNoForeignTextIntoTheTerminal) {
  EXPECT_EQ(check_line(check_of("x", std::string("a\nb\x1b"), "")), "ok      x             a?b?\n");
}

}  // namespace
}  // namespace tf
