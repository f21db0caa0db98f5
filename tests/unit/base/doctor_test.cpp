#include "base/doctor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/exit_code.h"

namespace tf {
namespace {

const std::vector<Check> three = {
    {.what = "tracker", .detail = "it answers"},
    {.what = "governor", .health = Health::kWeak, .detail = "is powersave", .remedy = "set performance"},
    check_of("disk", absl::ResourceExhaustedError("is full; make room"))};

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
}

TEST(Doctor, OnlyAFailureFailsTheCommand) {
  EXPECT_EQ(exit_code_of(three), kExitFailed);
  EXPECT_EQ(exit_code_of({three[0], three[1]}), kExitOk);
  EXPECT_EQ(exit_code_of({}), kExitOk);
}

TEST(Doctor, LetsNoForeignTextIntoTheTerminal) {
  EXPECT_EQ(checks_table({check_of("x", std::string("a\nb\x1b"))}), "ok      x  a?b?\n");
}

}  // namespace
}  // namespace tf
