#include "base/doctor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "base/remedy.h"

namespace tf {
namespace {

const std::vector<Check> three = {
    {.what = "tracker", .detail = "it answers"},
    {.what = "governor", .health = Health::kWeak, .detail = "is powersave", .remedy = "set performance"},
    check_of("disk", with_remedy(absl::StatusCode::kResourceExhausted, "is full", "make room"),
             "look at it")};

TEST(Doctor, TableHasALineForEachCheckWithItsRemedy) {
  EXPECT_EQ(checks_table(three),
            "ok      tracker   it answers\n"
            "weak    governor  is powersave; set performance\n"
            "FAILED  disk      is full; make room\n");
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
  EXPECT_EQ(checks_table({check_of("x", std::string("a\nb\x1b"), "")}), "ok      x  a?b?\n");
}

}  // namespace
}  // namespace tf
