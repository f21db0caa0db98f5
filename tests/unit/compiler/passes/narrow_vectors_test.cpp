#include <gtest/gtest.h>

#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/passes/canonical.h"

namespace tf::passes {
namespace {

std::string narrowed(const std::string& text) {
  const absl::StatusOr<ir::Function> function = ir::parse_function(text);
  EXPECT_TRUE(function.ok()) << function.status();
  return ir::to_string(narrow_vectors(*function));
}

TEST(NarrowVectors, KeepsTheFirstLanesOfAnAccumulatorWhoseLastOnesAreNotStored) {
  EXPECT_EQ(narrowed(R"(function kernel(a: f32[9], b: f32[144], c: f32[32]) {
  allocate acc: f32[32] register
  acc[ramp(0, 1, 16)] = broadcast(0f32, 16)
  acc[ramp(16, 1, 16)] = broadcast(0f32, 16)
  for k = 0 extent 9 {
    acc[ramp(0, 1, 16)] = acc[ramp(0, 1, 16)] + broadcast(a[k], 16) * b[ramp(k * 16, 1, 16)]
    acc[ramp(16, 1, 16)] = acc[ramp(16, 1, 16)] + broadcast(a[k], 16) * b[ramp(k * 16, 1, 16)]
  }
  c[ramp(0, 1, 16)] = acc[ramp(0, 1, 16)] where ramp(0, 1, 16) < broadcast(5, 16)
}
)"),
            canonical(R"(function kernel(a: f32[9], b: f32[144], c: f32[32]) {
  allocate acc: f32[32] register
  acc[ramp(0, 1, 8)] = broadcast(0f32, 8)
  for k = 0 extent 9 {
    acc[ramp(0, 1, 8)] = acc[ramp(0, 1, 8)] + broadcast(a[k], 8) * b[ramp(k * 16, 1, 8)]
  }
  c[ramp(0, 1, 8)] = acc[ramp(0, 1, 8)] where ramp(0, 1, 8) < broadcast(5, 8)
}
)"));
}

TEST(NarrowVectors, NeedsNoPredicateForLanesThatAllRun) {
  EXPECT_EQ(narrowed(R"(function kernel(a: f32[16], c: f32[8]) {
  c[ramp(0, 1, 16)] = a[ramp(0, 1, 16)] where ramp(0, 1, 16) < broadcast(8, 16)
}
)"),
            canonical(R"(function kernel(a: f32[16], c: f32[8]) {
  c[ramp(0, 1, 8)] = a[ramp(0, 1, 8)]
}
)"));
}

TEST(NarrowVectors, CutsDotProductsByLanesOfTheSum) {
  EXPECT_EQ(narrowed(R"(function kernel(a: u8[4], b: i8[64], c: i32[4]) {
  c[ramp(0, 1, 16)] = dot(broadcast(0i32, 16), a[ramp(0, 1, 4)], b[ramp(0, 1, 64)]) where ramp(0, 1, 16) < broadcast(4, 16)
}
)"),
            canonical(R"(function kernel(a: u8[4], b: i8[64], c: i32[4]) {
  c[ramp(0, 1, 4)] = dot(broadcast(0i32, 4), a[ramp(0, 1, 4)], b[ramp(0, 1, 16)])
}
)"));
}

TEST(NarrowVectors, LeavesWhatIsReadElsewhere) {
  // Folded into a scalar; read again in another order; a lane in the middle that does not run.
  for (const char* text : {
           R"(function kernel(a: f32[16], c: f32[16]) {
  allocate acc: f32[16] register
  acc[ramp(0, 1, 16)] = a[ramp(0, 1, 16)]
  c[ramp(0, 1, 16)] = broadcast(reduce_add(acc[ramp(0, 1, 16)]), 16) where ramp(0, 1, 16) < broadcast(16, 16)
}
)",
           R"(function kernel(a: f32[16], c: f32[16]) {
  allocate acc: f32[16] register
  acc[ramp(0, 1, 16)] = a[ramp(0, 1, 16)]
  c[ramp(0, 1, 4)] = acc[ramp(15, -1, 4)]
}
)",
           R"(function kernel(a: f32[16], c: f32[16], n: i64[1]) {
  c[ramp(0, 1, 16)] = a[ramp(0, 1, 16)] where ramp(0, 1, 16) < broadcast(n[0], 16)
}
)"})
    EXPECT_EQ(narrowed(text), canonical(text));
}

}  // namespace
}  // namespace tf::passes
