#include <gtest/gtest.h>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/passes/canonical.h"

namespace tf::passes {
namespace {

std::string merged(const std::string& text) {
  const absl::StatusOr<ir::Function> function = ir::parse_function(text);
  EXPECT_TRUE(function.ok()) << function.status();
  return ir::to_string(merge_unrolled(*function));
}

TEST(MergeUnrolled, MakesOneOfLoopsThatAreReadAsOne) {
  EXPECT_EQ(merged(R"(function f(a: f32[24], c: f32[1]) {
  for o = 0 extent 2 unrolled {
    for m = 0 extent 4 unrolled {
      for i = 0 extent 3 unrolled {
        c[0] = c[0] + a[o * 12 + m * 3 + i]
      }
    }
  }
})"),
            canonical(R"(function f(a: f32[24], c: f32[1]) {
  for o = 0 extent 24 unrolled {
    c[0] = c[0] + a[o]
  }
})"));
}

TEST(MergeUnrolled, KeepsLoopsThatAreReadApart) {
  for (const char* index : {"o * 4 + i", "i * 2 + o", "o * 3", "i"}) {
    const std::string text = std::string(
                                 "function f(a: f32[24], c: f32[1]) { for o = 0 extent 2 unrolled { "
                                 "for i = 0 extent 3 unrolled { c[0] = c[0] + a[") +
                             index + "] } } }";
    EXPECT_EQ(merged(text), canonical(text));
  }
}

TEST(MergeUnrolled, KeepsWhatIsNotUnrolled) {
  for (const char* kind : {"", "vectorized", "parallel"}) {
    const std::string text = std::string("function f(a: f32[24], c: f32[24]) { for o = 0 extent 2 ") + kind +
                             " { for i = 0 extent 3 unrolled { c[o * 3 + i] = a[o * 3 + i] } } }";
    EXPECT_EQ(merged(text), canonical(text));
  }
}

TEST(MergeUnrolled, KeepsLoopsOfWhichTheOuterIsTooLongToUnroll) {
  const std::string text =
      "function f(a: f32[9000], c: f32[9000]) { for o = 0 extent 1000 unrolled { "
      "for i = 0 extent 9 unrolled { c[o * 9 + i] = a[o * 9 + i] } } }";
  EXPECT_EQ(merged(text), canonical(text));
}

}  // namespace
}  // namespace tf::passes
