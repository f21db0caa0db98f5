// Rounding to bf16, value by value: by instructions where the target has them and by integer arithmetic, in
// vectors of every length and scalars, and in the interpreter.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "compiler/ir/parse.h"
#include "compiler/target/target.h"
#include "tests/support/interpreter_oracle/interpreter_oracle.h"
#include "tests/support/ir/host_memory.h"
#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::backends {
namespace {

struct Rounding {
  uint32_t from;  // bits of an f32
  uint16_t to;    // bits of the bf16; of a NaN any that are one
};
constexpr Rounding kRoundings[] = {
    {0x3f800000, 0x3f80},                        // 1
    {0x3f807fff, 0x3f80}, {0x3f808001, 0x3f81},  // just below and above half way
    {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82},  // half way: to even, down and up
    {0xbf808000, 0xbf80}, {0xbf818000, 0xbf82},  // the same below zero
    {0x3fffffff, 0x4000},                        // into the next power of two
    {0x7f7f7fff, 0x7f7f}, {0x7f7f8000, 0x7f80},  // the largest, and what is beyond it: infinity
    {0x7f7fffff, 0x7f80}, {0xff7fffff, 0xff80}, {0x7f800000, 0x7f80}, {0xff800000, 0xff80},
    {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x00800000, 0x0080},  // the least normal number
    {0x7fc00000, 0x7fc0}, {0x7f800001, 0x7fc0},  // NaN, also one that shows in the cut bits only
    {0xffc12345, 0xffc1}, {0xff80ffff, 0xffc0},
};
constexpr int kCount = 32;

bool is_nan(uint16_t bits) {
  return (bits & 0x7fff) > 0x7f80;
}

ir::Function rounding_function(int lanes) {
  const std::string at = lanes == 1 ? "i" : absl::StrCat("ramp(i * ", lanes, ", 1, ", lanes, ")");
  const absl::StatusOr<ir::Function> function = ir::parse_function(
      absl::StrCat("function kernel(a: f32[", kCount, "], c: bf16[", kCount, "]) {\n  for i = 0 extent ",
                   kCount / lanes, " {\n    c[", at, "] = cast<bf16>(a[", at, "])\n  }\n}\n"));
  EXPECT_TRUE(function.ok()) << function.status();
  return *function;
}

TEST(BFloat, IsTheNearestWithTiesToEvenAndANaNStaysOne) {
  for (const int lanes : {1, 2, 4, 8, 16, 32}) {
    const ir::Function function = rounding_function(lanes);
    for (const std::string& name : runnable_targets()) {
      const auto kernel = support::compile_for(function, *target::parse_target(name));
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      support::AlignedBytes a(kCount * 4), c(kCount * 2);
      for (size_t i = 0; i < std::size(kRoundings); ++i) a.as<uint32_t>()[i] = kRoundings[i].from;
      support::AlignedBytes* buffers[] = {&a, &c};
      ASSERT_EQ(support::call_kernel(*kernel, buffers), 0);
      for (size_t i = 0; i < std::size(kRoundings); ++i) {
        const uint16_t got = c.as<uint16_t>()[i], want = kRoundings[i].to;
        EXPECT_TRUE(is_nan(want) ? is_nan(got) : got == want)
            << name << ", " << lanes << " lanes: " << std::hex << kRoundings[i].from << " gives " << got
            << ", not " << want;
      }
    }
  }
}

TEST(BFloat, OfTheInterpreterIsTheSame) {
  std::vector<double> values(kCount, 0);
  for (size_t i = 0; i < std::size(kRoundings); ++i)
    values[i] = double{std::bit_cast<float>(kRoundings[i].from)};
  for (const int lanes : {1, 16}) {
    const auto results =
        test::interpret_values(rounding_function(lanes), {values, std::vector<double>(kCount, std::nan(""))});
    ASSERT_TRUE(results.ok()) << results.status();
    for (size_t i = 0; i < std::size(kRoundings); ++i) {
      const double got = (*results)[1][i],
                   want = double{std::bit_cast<float>(uint32_t{kRoundings[i].to} << 16)};
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want))
          << std::hex << kRoundings[i].from;
    }
  }
}

}  // namespace
}  // namespace tf::backends
