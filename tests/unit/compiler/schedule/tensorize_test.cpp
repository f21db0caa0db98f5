// The step tensorize: what it takes, and why it refuses the rest.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/matmul.h"
#include "compiler/schedule/schedule.h"

namespace tf::schedule {
namespace {

using tensor::Element;
using ::testing::HasSubstr;

constexpr char kSteps[] = R"(schedule v1
split t1 i0 1,1,2,8 guard
split t1 i1 1,1,4,2 guard
reorder t1 i0.0,i1.0,i0.1,i1.1,i0.4,i1.3,i0.2,i1.2,i0.3,i1.4
fuse t1 i0.4,i1.3
annotate t1 i0.4*i1.3 thread_x
compute_at t0 t1 i0.4*i1.3 fragment
split t0 r0 16 guard
split t0 i0 16 guard
split t0 i1 8 guard
reorder t0 r0.0,i0.0,i1.0,i0.1,i1.1,r0.1
cache_read p0 t0 row_major global
cache_read p0.pack t0 row_major global
compute_at p0.pack.pack t0 r0.0 fragment
compute_at p0.pack t0 r0.0 shared
cache_read p1 t0 row_major global
cache_read p1.pack t0 row_major global
compute_at p1.pack.pack t0 r0.0 fragment
compute_at p1.pack t0 r0.0 shared
tensorize t0 i0.1 mma_m16n8k16_f16
)";

absl::Status applied(const std::string& steps) {
  ops::Builder b;
  const auto x = b.input("x", Element::kFloat16, {tensor::imm(16), tensor::imm(40)});
  const auto w = b.input("w", Element::kFloat16, {tensor::imm(40), tensor::imm(8)});
  const absl::StatusOr<Schedule> schedule = parse_schedule(steps);
  if (!schedule.ok()) return schedule.status();
  EXPECT_EQ(to_string(*schedule), steps);
  return apply(*b.finish({ops::matmul(b, x, w)}), *schedule).status();
}

std::string fault(const char* from, const char* to) {
  const std::string steps = absl::StrReplaceAll(kSteps, {{from, to}});
  EXPECT_NE(steps, kSteps) << from;
  return std::string(applied(steps).message());
}

TEST(Tensorize, TakesAProductOfFragments) {
  EXPECT_TRUE(applied(kSteps).ok()) << applied(kSteps);
}

TEST(Tensorize, FixesTheLoopsOfItsStages) {
  for (const char* step : {"split t0 i0.0 2 guard", "annotate p0.pack.pack i0 unroll"})
    EXPECT_THAT(std::string(applied(absl::StrCat(kSteps, step, "\n")).message()),
                HasSubstr("are a matrix instruction's"));
}

TEST(Tensorize, SaysWhatItNeeds) {
  EXPECT_THAT(fault("mma_m16n8k16_f16", "mma_m1n1k1_f16"),
              HasSubstr("there is no matrix instruction 'mma_m1n1k1_f16'"));
  EXPECT_THAT(fault("mma_m16n8k16_f16", "mma_m16n8k16_bf16"), HasSubstr("of bf16 and bf16 in f32"));
  EXPECT_THAT(fault("mma_m16n8k16_f16", "mma_m16n8k8_f16"), HasSubstr("of extents 16, 8 and 8"));
  EXPECT_THAT(fault("tensorize t0 i0.1", "tensorize t0 i1.1"),
              HasSubstr("three innermost loops, from i1.1 on"));
  EXPECT_THAT(fault("compute_at p0.pack t0 r0.0 shared\n", ""),
              HasSubstr("is not what mma_m16n8k16_f16 computes"));
  EXPECT_THAT(fault("compute_at p0.pack.pack t0 r0.0 fragment", "compute_at p0.pack.pack t0 r0.0 register"),
              HasSubstr("is not what mma_m16n8k16_f16 computes"));
  EXPECT_THAT(fault("annotate t1 i0.4*i1.3 thread_x\n", ""),
              HasSubstr("a fragment is held by the 32 lanes of a warp"));
}

}  // namespace
}  // namespace tf::schedule
