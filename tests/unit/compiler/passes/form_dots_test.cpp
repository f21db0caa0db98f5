#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

using testing::HasSubstr;

// c[j] += a[r] * b[4j + r] over 16 lanes and 4 terms, with replacements.
std::string formed(
    std::initializer_list<std::pair<const absl::string_view, absl::string_view>> replacements) {
  const std::string text = absl::StrReplaceAll(R"(function kernel(c: i32[64], a: u8[4], b: i8[256]) {
  for r = 0 extent 4 {
    for j = 0 extent 16 vectorized {
      c[j] = c[j] + cast<i32>(a[r]) * cast<i32>(b[j * 4 + r])
    }
  }
}
)",
                                               replacements);
  absl::StatusOr<ir::Function> function = ir::parse_function(text);
  EXPECT_TRUE(function.ok()) << function.status() << text;
  return function.ok() ? ir::to_string(form_dots(*function)) : "";
}

bool is_dot(const std::string& text) {
  return text.find("dot(") != text.npos;
}

TEST(FormDots, MakesOneOfALoopOverTerms) {
  EXPECT_THAT(formed({}),
              HasSubstr("c[ramp(0, 1, 16)] = dot(c[ramp(0, 1, 16)], a[ramp(0, 1, 4)], b[ramp(0, 1, 64)])"));
  EXPECT_TRUE(is_dot(formed({{"4 {", "4 unrolled {"}})));
}

TEST(FormDots, MovesBytesToTheOtherSign) {
  EXPECT_THAT(formed({{"cast<i32>(a[r])", "(cast<i32>(a[r]) + -128i32)"}}),
              HasSubstr("cast<i8>(a[ramp(0, 1, 4)])"));
  EXPECT_THAT(formed({{"u8[4]", "i8[4]"}, {"cast<i32>(a[r])", "(cast<i32>(a[r]) + 128i32)"}}),
              HasSubstr("cast<u8>(a[ramp(0, 1, 4)])"));
  EXPECT_FALSE(is_dot(formed({{"cast<i32>(a[r])", "(cast<i32>(a[r]) + 128i32)"}}))) << "beyond a byte";
  EXPECT_FALSE(is_dot(formed({{"u8[4]", "i8[4]"}, {"cast<i32>(a[r])", "(cast<i32>(a[r]) + 127i32)"}})));
}

TEST(FormDots, LeavesTermsThatDoNotComeOneAfterAnother) {
  EXPECT_FALSE(is_dot(formed({{"4 {", "4 parallel {"}})));
  EXPECT_FALSE(is_dot(formed({{"4 {", "4 vectorized {"}})));
}

TEST(FormDots, BeginsWhereTheLanesBegin) {
  EXPECT_THAT(formed({{"j = 0", "j = 8"}}),
              HasSubstr("c[ramp(8, 1, 16)] = dot(c[ramp(8, 1, 16)], a[ramp(0, 1, 4)], b[ramp(32, 1, 64)])"));
  // 8 to 15, then 0 to 7: not next to each other, as they would be from lane 0 on.
  EXPECT_TRUE(is_dot(formed({{"c[j]", "c[j % 16]"}})));
  EXPECT_FALSE(is_dot(formed({{"j = 0", "j = 8"}, {"c[j]", "c[j % 16]"}})));
}

}  // namespace
}  // namespace tf::passes
