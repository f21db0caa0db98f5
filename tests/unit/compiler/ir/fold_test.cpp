// Folds of lanes: text, what is legal, what they compute.
#include <gmock/gmock.h>

#include <cmath>

#include "compiler/ir/equal.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/ir/ir_checks.h"

namespace tf::ir {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSums = R"(function sums(a: f32[64], b: f32[64]) {
  for y = 0 extent 8 thread_y {
    for x = 0 extent 8 thread_x {
      allocate s: f32[1] register
      s[0] = a[y * 8 + x]
      fold sum s[0] lanes 8
      b[y * 8 + x] = s[0]
    }
  }
}
)";

std::string with(std::string_view from, std::string_view to) {
  std::string text(kSums);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string fold_fault(std::string_view from, std::string_view to, const Promises& promises = {}) {
  const absl::StatusOr<Function> function = parse_function(with(from, to));
  return std::string(function.ok() ? verify(*function, promises).message() : function.status().message());
}

std::vector<double> numbers() {
  std::vector<double> values;
  for (int i = 0; i < 64; ++i) values.push_back((i * 7) % 13 - 5);
  return values;
}

absl::StatusOr<std::vector<std::vector<double>>> run_fold(const std::string& text,
                                                          std::vector<double> a = numbers()) {
  const absl::StatusOr<Function> function = parse_function(text);
  if (!function.ok()) return function.status();
  return tf::test::interpret_values(*function, {std::move(a), std::vector<double>(64)});
}

TEST(LaneFold, PrintsWhatItParsed) {
  const Function one = *parse_function(kSums);
  EXPECT_EQ(to_string(one), std::string(kSums));
  tf::test::check_round_trip(one);
  for (const auto& [from, to] : {std::pair("fold sum", "fold max"), {"lanes 8", "lanes 4"}}) {
    const Function other = *parse_function(with(from, to));
    EXPECT_FALSE(equal(one, other)) << to;
    EXPECT_NE(hash(one), hash(other)) << to;
  }
}

TEST(LaneFold, SaysWhatIsIllegal) {
  EXPECT_EQ(fold_fault("fold", "fold"), "");
  EXPECT_THAT(fold_fault("fold sum", "fold prod"), HasSubstr("'prod' is not sum, max or min"));
  EXPECT_THAT(fold_fault("lanes 8", "lanes 6"), HasSubstr("a fold of 6 lanes; it takes 2, 4, 8, 16 or 32"));
  EXPECT_THAT(fold_fault("lanes 8", "lanes 64"), HasSubstr("a warp has 32 lanes, not 64"));
  EXPECT_THAT(fold_fault("fold sum s[0]", "fold sum b[0]"),
              HasSubstr("b is not a buffer of numbers in registers"));
  EXPECT_THAT(fold_fault("fold", "fold", {.for_cpu = true}), HasSubstr("for GPUs"));
}

TEST(LaneFold, GivesAllLanesOfAGroupTheResult) {
  const std::vector<double> a = numbers();
  for (const std::string name : {"sum", "max", "min"}) {
    const auto values = run_fold(with("fold sum", "fold " + name));
    ASSERT_TRUE(values.ok()) << values.status();
    for (size_t i = 0; i < 64; ++i) {
      double want = a[i / 8 * 8];
      for (size_t l = 1; l < 8; ++l) {
        const double x = a[i / 8 * 8 + l];
        want = name == "sum" ? want + x : name == "max" ? std::max(want, x) : std::min(want, x);
      }
      EXPECT_EQ((*values)[1][i], want) << name << " " << i;
    }
  }
}

TEST(LaneFold, KeepsNotANumberAndInfinity) {
  std::vector<double> a = numbers();
  a[3] = NAN;
  a[12] = -INFINITY;
  const auto values = run_fold(with("fold sum", "fold max"), a);
  ASSERT_TRUE(values.ok()) << values.status();
  for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(std::isnan((*values)[1][i])) << i;
  for (size_t i = 8; i < 64; ++i) EXPECT_TRUE(std::isfinite((*values)[1][i])) << i;
}

TEST(LaneFold, TakesWholeWarpsInStep) {
  EXPECT_THAT(std::string(run_fold(with("thread_y", "thread_z")).status().message()), "");
  EXPECT_THAT(std::string(run_fold(with("y = 0 extent 8", "y = 0 extent 7")).status().message()),
              HasSubstr("a statement of a whole warp runs in 24 threads; a warp has 32"));
  EXPECT_THAT(
      std::string(
          run_fold(with("fold sum s[0] lanes 8", "if x < 5 { fold sum s[0] lanes 8 }")).status().message()),
      HasSubstr("a condition"));
  EXPECT_THAT(std::string(run_fold(with("x = 0 extent 8 thread_x", "x = 0 extent 8")).status().message()),
              HasSubstr("a warp has 32"));
  EXPECT_FALSE(run_fold(with("s[0] = a[y * 8 + x]", "if x < 5 { s[0] = a[y * 8 + x] }")).ok());
}

}  // namespace
}  // namespace tf::ir
