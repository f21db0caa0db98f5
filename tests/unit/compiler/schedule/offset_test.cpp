// The step offset, and when the default schedule moves a factor of bytes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/stage_loops.h"

namespace tf::schedule {
namespace {

using tensor::Element;
using tensor::imm;
using ::testing::HasSubstr;
using ::testing::Not;

struct Factors {
  Element a = Element::kInt8, b = Element::kInt8;
  bool constant = true;
  int64_t m = 40, k = 64, n = 48;
};

tensor::Workload product(const Factors& f) {
  ops::Builder b;
  auto x = b.input("x", f.a, {imm(f.m), imm(f.k)});
  auto w = f.constant ? b.constant("w", f.b, {imm(f.k), imm(f.n)}) : b.input("w", f.b, {imm(f.k), imm(f.n)});
  return *b.finish({ops::relu(b, ops::matmul(b, x, w))});
}

std::string default_text(const tensor::Workload& workload, const char* target) {
  return to_string(
      recipes::default_schedule({.workload = workload, .target = *target::parse_target(target)}));
}

std::optional<Illegal> reason_of(const tensor::Workload& workload, const Offset& step) {
  State state(workload);
  const std::optional<StepError> error = state.apply(step);
  return error ? std::optional(error->reason) : std::nullopt;
}

TEST(Offset, OfAConstantAddsItsSumsAsAnInput) {
  State state(product({}));
  ASSERT_FALSE(state.apply(Offset{"t0", "p0", 128}));
  ASSERT_EQ(state.workload().inputs.size(), 3u);
  EXPECT_TRUE(state.workload().inputs[2].constant);
  EXPECT_EQ(state.data().sums.at("p2"), (ConstantSums{1, {0}}));
  const tensor::Buffer& sums = state.workload().inputs[2].buffer;
  EXPECT_EQ(sums->element, Element::kInt32);
  EXPECT_EQ(tensor::as_int(sums->extents[0]), 1);
  EXPECT_EQ(tensor::as_int(sums->extents[1]), 48);
  EXPECT_EQ(state.data().readers(sums.get()).size(), 1u);
  EXPECT_EQ(state.data().readers(sums.get())[0]->name, "t1");
}

TEST(Offset, OfWhatIsGivenAtRunTimeAddsAStage) {
  State state(product({.constant = false}));
  ASSERT_FALSE(state.apply(Offset{"t0", "p0", 128}));
  EXPECT_EQ(state.workload().inputs.size(), 2u);
  ASSERT_NE(state.data().find_stage("t0.sums"), nullptr);
  EXPECT_EQ(state.data().find_stage("t0.sums")->stage.reduce_axes.size(), 1u);
}

// A padded image of i8 by weights of i8; t0 pads it, t1 sums.
tensor::Workload padded_convolution() {
  ops::Builder b;
  auto x = b.input("x", Element::kInt8, {imm(1), imm(16), imm(7), imm(7)});
  auto w = b.constant("w", Element::kInt8, {imm(32), imm(16), imm(3), imm(3)});
  return *b.finish({ops::relu(b, ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}}))});
}

TEST(Offset, OfWhatAStageMakesIsStoredMoved) {
  State state(padded_convolution());
  const tensor::Stage sum = state.data().find_stage("t1")->stage;
  ASSERT_FALSE(state.apply(Offset{"t1", "t0", 128}));
  EXPECT_EQ(state.data().find_stage("t0")->stage.output->element, Element::kUInt8);
  const auto* before = tensor::as<tensor::Binary>(sum.body);
  const auto* product = tensor::as<tensor::Binary>(state.data().find_stage("t1")->stage.body);
  ASSERT_NE(product, nullptr);
  EXPECT_EQ(product->a->kind(), before->a->kind()) << "widened, and nothing added";
  EXPECT_EQ(product->b->kind(), before->b->kind());
  EXPECT_EQ(state.data().readers(state.data().find_stage("t0")->stage.output.get()).size(), 1u);
}

TEST(Offset, OfWhatAStageMakesForOthersTooIsMovedInTheSum) {
  ops::Builder b;
  auto x = b.input("x", Element::kInt8, {imm(6), imm(64)});
  auto w = b.constant("w", Element::kInt8, {imm(64), imm(48)});
  auto made = ops::relu(b, x);
  State state(*b.finish({ops::relu(b, ops::matmul(b, made, w)), made}));
  ASSERT_FALSE(state.apply(Offset{"t1", "t0", 128}));
  EXPECT_EQ(state.data().find_stage("t0")->stage.output->element, Element::kInt8);
}

TEST(Offset, TakesOnlyWhatItKeepsExact) {
  EXPECT_EQ(reason_of(product({}), {"t0", "p0", 64}), Illegal::kNotOffset);
  EXPECT_EQ(reason_of(product({}), {"t0", "p0", -128}), Illegal::kNotOffset) << "beyond a byte";
  EXPECT_EQ(reason_of(product({.a = Element::kUInt8}), {"t0", "p0", -128}), std::nullopt);
  EXPECT_EQ(reason_of(product({}), {"t0", "p1", 128}), std::nullopt) << "the constant may move, too";
  EXPECT_EQ(reason_of(product({}), {"t1", "p0", 128}), Illegal::kIsOutput);
  EXPECT_EQ(reason_of(product({.a = Element::kBFloat16, .b = Element::kBFloat16}), {"t0", "p0", 128}),
            Illegal::kNotOffset);
  EXPECT_EQ(reason_of(product({}), {"t0", "p7", 128}), Illegal::kNotOffset);
}

// The stage's loads of the buffer become loads under the condition that the stage's first axis is not 0.
void guard_loads(tensor::Workload& workload, size_t stage, const tensor::Buffer& of) {
  tensor::Stage& guarded = workload.stages[stage];
  const tensor::Expr condition = imm(0) < guarded.axes[0].var;
  guarded.body = replace_loads(guarded.body, of.get(), [&](const tensor::Load& load) {
    return tensor::load(of, load.indices, condition);
  });
}

TEST(Offset, LeavesFactorsThatAreReadUnderAPredicate) {
  for (const size_t factor : {0, 1}) {
    tensor::Workload guarded = product({});
    guard_loads(guarded, 0, guarded.inputs[factor].buffer);
    EXPECT_EQ(reason_of(guarded, {"t0", "p0", 128}), Illegal::kNotOffset);
    EXPECT_EQ(reason_of(guarded, {"t0", "p1", 128}), Illegal::kNotOffset);
  }
  tensor::Workload padded = padded_convolution();
  ASSERT_EQ(reason_of(padded, {"t1", "t0", 128}), std::nullopt);
  guard_loads(padded, 1, padded.stages[0].output);
  EXPECT_EQ(reason_of(padded, {"t1", "t0", 128}), Illegal::kNotOffset);
}

TEST(Offset, TakesNothingOffSumsThatAreNotRead) {
  tensor::Workload guarded = product({});
  guard_loads(guarded, 1, guarded.stages[0].output);
  State state(guarded);
  ASSERT_FALSE(state.apply(Offset{"t0", "p0", 128}));
  int loads = 0, guards = 0;
  tensor::for_each(state.data().find_stage("t1")->stage.body, [&](const tensor::Expr& e) {
    if (const auto* load = tensor::as<tensor::Load>(e)) ++loads, guards += load->predicate ? 1 : 0;
    return true;
  });
  EXPECT_EQ(loads, 2) << "the sum, and what is taken off it";
  EXPECT_EQ(guards, 2);
}

TEST(Offset, IsWhatTheDefaultScheduleDoesForOneSignOnX86) {
  EXPECT_THAT(default_text(product({}), "x86_64:cpu=znver4"), HasSubstr("offset t0 p0 128"));
  EXPECT_THAT(default_text(product({.a = Element::kUInt8, .b = Element::kUInt8}), "x86_64:cpu=znver4"),
              HasSubstr("offset t0 p0 -128"));
  EXPECT_THAT(default_text(product({.a = Element::kUInt8}), "x86_64:cpu=znver4"), Not(HasSubstr("offset")));
  EXPECT_THAT(default_text(product({}), "aarch64:+dotprod"), Not(HasSubstr("offset")));
  EXPECT_THAT(default_text(product({}), "x86_64:cpu=haswell"), Not(HasSubstr("offset"))) << "no dot products";
  const std::string packed = default_text(product({.constant = false}), "x86_64:cpu=znver4");
  EXPECT_THAT(packed, HasSubstr("offset t0 p0 128"));
  EXPECT_THAT(packed, HasSubstr("split t0.sums"));
  EXPECT_THAT(packed, HasSubstr("cache_read p1 t0 1,0,1:"));
}

}  // namespace
}  // namespace tf::schedule
