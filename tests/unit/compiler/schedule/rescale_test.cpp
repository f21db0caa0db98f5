// The step rescale: what it makes of a softmax that weights values, and why it refuses the rest.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/reduction.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/workload.h"

namespace tf::schedule {
namespace {

using ::testing::HasSubstr;

// Stages: t0 scores, t1 maximum, t2 exponential, t3 sum, t4 scale, t5 weights, t6 result.
tensor::Workload attention(int64_t keys = 10) {
  ops::Builder b;
  const auto input = [&](const char* name, std::initializer_list<int64_t> values) {
    std::vector<tensor::Expr> extents;
    for (const int64_t value : values) extents.push_back(tensor::imm(value));
    return b.input(name, tensor::Element::kFloat32, extents);
  };
  const tensor::Buffer scores = ops::matmul(b, input("q", {2, 5, 4}), input("k", {2, 4, keys}));
  return *b.finish({ops::matmul(b, ops::softmax(b, scores, 2), input("v", {2, keys, 3}))});
}

constexpr const char* kInlined = "schedule v1\ninline t2\ninline t4\ninline t5\n";

std::string why_refused(const std::string& steps, int64_t keys = 10) {
  return std::string(schedule::apply(attention(keys), *parse_schedule(steps)).status().message());
}

TEST(Rescale, MakesStagesOfBlocksAndWhatCombinesThem) {
  const absl::StatusOr<State> state =
      schedule::apply(attention(), *parse_schedule(absl::StrCat(kInlined, "rescale t1 t3 t6 4\n")));
  ASSERT_TRUE(state.ok()) << state.status();
  std::vector<std::string> stages;
  for (const StageState& stage : state->stages()) {
    if (stage.place == StageState::Place::kInlined) continue;
    std::string text = stage.name;
    for (const Loop& loop : stage.loops)
      absl::StrAppend(&text, loop.reduce ? " r" : " ", static_cast<int64_t>(loop.extent));
    stages.push_back(text);
  }
  EXPECT_EQ(stages, (std::vector<std::string>{"t0 2 5 10 r4", "t6.max 3 2 5 1 r4", "t6.exp 3 2 5 1 4",
                                              "t6.sum 3 2 5 1 r4", "t6.values 3 2 5 3 r4", "t6.part 3 2 5 5",
                                              "t1 2 5 1 r3", "t3 2 5 1 r3", "t6 2 5 3 r3"}));
}

TEST(Rescale, IsOfSumsAloneWhoseReadersStay) {
  const absl::StatusOr<State> state = schedule::apply(
      attention(),
      *parse_schedule("schedule v1\ninline t2\ninline t4\nrescale t1 t3 t3 4\nrecompute t0 t5\n"));
  ASSERT_TRUE(state.ok()) << state.status();
  std::string stages;
  for (const StageState& stage : state->stages()) {
    if (stage.place == StageState::Place::kInlined) continue;
    absl::StrAppend(&stages, stage.name);
    for (const Loop& loop : stage.loops)
      absl::StrAppend(&stages, loop.reduce ? " r" : " ", static_cast<int64_t>(loop.extent));
    absl::StrAppend(&stages, "\n");
  }
  EXPECT_EQ(stages,
            "t0 2 5 10 r4\nt0.again 2 5 10 r4\nt3.max 3 2 5 1 r4\nt3.exp 3 2 5 1 4\nt3.sum 3 2 5 1 "
            "r4\nt3.part 3 2 5 1 2\n"
            "t1 2 5 1 r3\nt3 2 5 1 r3\nt5 2 5 10\nt6 2 5 3 r10\n");
}

// Of a row of -inf their answer is NaN, but the logarithm of a sum of nothing is -inf.
TEST(Rescale, IsNotOfSumsThatAreReadOtherwise) {
  const auto why = [](const std::string& value) {
    const absl::StatusOr<tensor::Workload> workload = tensor::parse_workload(
        absl::StrCat("workload v1\n"
                     "input p0: f32[5, 10]\n"
                     "stage t0: f32[i0 < 5] = reduce max[r0 < 10] p0[i0, r0]\n"
                     "stage t1: f32[i0 < 5] = reduce sum[r0 < 10] exp(p0[i0, r0] - t0[i0])\n"
                     "stage t2: f32[i0 < 5, i1 < 10] = ",
                     value, "\noutput t2\n"));
    EXPECT_TRUE(workload.ok()) << workload.status();
    return std::string(
        schedule::apply(*workload, *parse_schedule("schedule v1\nrescale t0 t1 t1 4\n")).status().message());
  };
  EXPECT_EQ(why("exp(p0[i0, i1] - t0[i0]) / t1[i0]"), "");
  for (const char* value :
       {"log(t1[i0]) + p0[i0, i1]", "p0[i0, i1] - t0[i0]", "(p0[i0, i1] - t0[i0]) / t1[i0]",
        "select(t0[i0] == -inf f32, 0f32, exp(p0[i0, i1] - t0[i0]) / t1[i0])", "p0[i0, i1] * t1[i0]"})
    EXPECT_THAT(why(value), HasSubstr("are not the greatest scores of rows")) << value;
}

TEST(Recompute, IsForOneReaderOfSeveral) {
  EXPECT_EQ(why_refused("schedule v1\nrecompute t0 t1\n"), "");
  EXPECT_THAT(why_refused("schedule v1\nrecompute t0 t3\n"), HasSubstr("t3 does not read t0"));
  EXPECT_THAT(why_refused("schedule v1\nrecompute t4 t5\n"),
              HasSubstr("only t5 reads t4, so that a copy would be the only one"));
  EXPECT_THAT(why_refused("schedule v1\nsplit t0 i0 2 guard\nrecompute t0 t1\n"),
              HasSubstr("t0 now has the loops"));
}

TEST(Rescale, IsOfASoftmaxOfRowsThatWeightsValues) {
  EXPECT_EQ(why_refused(absl::StrCat(kInlined, "rescale t1 t3 t6 1\n")), "");
  EXPECT_EQ(why_refused(absl::StrCat(kInlined, "rescale t1 t3 t6 100\n")), "");
  for (const char* steps : {"rescale t3 t1 t6 4\n", "rescale t1 t3 t0 4\n", "rescale t1 t1 t6 4\n"})
    EXPECT_THAT(why_refused(absl::StrCat(kInlined, steps)), HasSubstr("are not the greatest scores of rows"))
        << steps;
  EXPECT_THAT(why_refused("schedule v1\ninline t4\ninline t5\nrescale t1 t3 t6 4\n"),
              HasSubstr("inline the element-wise stages between them first"));
  EXPECT_THAT(why_refused(absl::StrCat(kInlined, "rescale t1 t3 t6 0\n")),
              HasSubstr("block 0 is out of range"));
  // A block of a short row has as many keys as threads share, and no more.
  EXPECT_EQ(why_refused(absl::StrCat(kInlined, "rescale t1 t3 t6 1024\n")), "");
  EXPECT_THAT(why_refused(absl::StrCat(kInlined, "rescale t1 t3 t6 1025\n")),
              HasSubstr("block 1025 is out of range; 1 to 1024 is legal"));
  EXPECT_EQ(why_refused(absl::StrCat(kInlined, "rescale t1 t3 t6 3000\n"), 3000), "");
  EXPECT_THAT(why_refused(absl::StrCat(kInlined, "rescale t1 t3 t6 3001\n"), 3000),
              HasSubstr("block 3001 is out of range; 1 to 3000 is legal"));
  EXPECT_THAT(why_refused(absl::StrCat(kInlined, "rescale t9 t3 t6 4\n")), HasSubstr("there is no stage t9"));
  EXPECT_THAT(why_refused(absl::StrCat(kInlined, "split t6 r0 2 guard\nrescale t1 t3 t6 4\n")),
              HasSubstr("t6 now has the loops"));
  EXPECT_THAT(why_refused(absl::StrCat(kInlined, "compute_at t1 t6 i1 register\nrescale t1 t3 t6 4\n")),
              HasSubstr("t3 reads t1"));
}

}  // namespace
}  // namespace tf::schedule
