// The step narrow, and when the default schedule stores factors narrower.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/recipes/recipes.h"
#include "compiler/recipes/shape/structure.h"
#include "compiler/schedule/numerics.h"
#include "tests/support/schedule/examples.h"

namespace tf::schedule {
namespace {

using tensor::Element;
using tensor::imm;
using test::channels_innermost;
using ::testing::HasSubstr;
using ::testing::Not;

tensor::Workload product(int64_t m, int64_t k, int64_t n, bool constant = true) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(m), imm(k)});
  auto w = constant ? b.constant("w", Element::kFloat32, {imm(k), imm(n)})
                    : b.input("w", Element::kFloat32, {imm(k), imm(n)});
  auto bias = b.constant("b", Element::kFloat32, {imm(n)});
  return *b.finish({ops::relu(b, ops::bias_add(b, ops::matmul(b, x, w), bias))});
}

tensor::Workload convolution(int64_t channels, int64_t extent, int64_t out) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(1), imm(channels), imm(extent), imm(extent)});
  auto w = b.constant("w", Element::kFloat32, {imm(out), imm(channels), imm(3), imm(3)});
  return *b.finish({ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}})});
}

std::string default_text(const tensor::Workload& workload, const char* target, const Numerics& allowed,
                         const tensor::PortLayouts& ports = {}) {
  return to_string(recipes::default_schedule(
      {.workload = workload, .ports = ports, .target = *target::parse_target(target), .allowed = allowed}));
}

std::optional<Illegal> reason_of(const tensor::Workload& workload, const Narrow& step) {
  State state(workload);
  const std::optional<StepError> error = state.apply(step);
  return error ? std::optional(error->reason) : std::nullopt;
}

TEST(Narrow, WidensWhatReadersLoad) {
  State state(product(4, 8, 16));
  ASSERT_FALSE(state.apply(Narrow{"p1", Element::kBFloat16}));
  EXPECT_EQ(state.workload().inputs[1].buffer->element, Element::kBFloat16);
  const tensor::Stage& sum = state.data().find_stage("t0")->stage;
  EXPECT_EQ(sum.output->element, Element::kFloat32);
  const auto* multiply = tensor::as<tensor::Binary>(sum.body);
  ASSERT_NE(multiply, nullptr);
  const auto* cast = tensor::as<tensor::Cast>(multiply->b);
  ASSERT_NE(cast, nullptr);
  EXPECT_EQ(cast->a->type().element, Element::kBFloat16);
}

TEST(Narrow, RoundsWhatAStageStores) {
  State state(product(4, 8, 16));
  ASSERT_FALSE(state.apply(CacheRead{"p0", "t0", tensor::Layout{}, tensor::Scope::kGlobal}));
  ASSERT_FALSE(state.apply(Narrow{"p0.pack", Element::kFloat16}));
  const tensor::Stage& copy = state.data().find_stage("p0.pack")->stage;
  EXPECT_EQ(copy.output->element, Element::kFloat16);
  EXPECT_EQ(copy.body->type().element, Element::kFloat16);
}

TEST(Narrow, IsLegalForF32ConstantsAndStoredElementwiseStages) {
  const tensor::Workload workload = product(4, 8, 16);
  EXPECT_EQ(reason_of(workload, {"p1", Element::kFloat16}), std::nullopt);
  EXPECT_EQ(reason_of(workload, {"p0", Element::kFloat16}), Illegal::kNotNarrow);
  EXPECT_EQ(reason_of(workload, {"p1", Element::kFloat64}), Illegal::kNotNarrow);
  EXPECT_EQ(reason_of(workload, {"t0", Element::kBFloat16}), Illegal::kNotNarrow);  // sums stay f32
  EXPECT_EQ(reason_of(workload, {"p9", Element::kBFloat16}), Illegal::kUnknownStage);
  const int output = static_cast<int>(workload.stages.size()) - 1;
  EXPECT_EQ(reason_of(workload, {recipes::stage_name(output), Element::kBFloat16}), Illegal::kIsOutput);
  State transformed(convolution(16, 8, 16));
  ASSERT_FALSE(transformed.apply(Winograd{"t1", 4}));
  EXPECT_EQ(transformed.apply(Narrow{"p1", Element::kBFloat16})->reason, Illegal::kNotNarrow);
  State twice(workload);
  ASSERT_FALSE(twice.apply(Narrow{"p1", Element::kBFloat16}));
  EXPECT_EQ(twice.apply(Narrow{"p1", Element::kBFloat16})->reason, Illegal::kNotNarrow);
}

TEST(Narrow, HasATextAndNamesItsNumerics) {
  const std::string text = "schedule v1\nnarrow p1 bf16\nnarrow p2 f16\n";
  const absl::StatusOr<Schedule> schedule = parse_schedule(text);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_EQ(to_string(*schedule), text);
  EXPECT_EQ(numerics_of(*schedule), (Numerics{kBf16, kFp16}));
  EXPECT_NEAR(storage_error(*schedule), 0x1p-8 + 0x1p-11, 1e-5);
  EXPECT_EQ(storage_error({}), 0);
  EXPECT_THAT(std::string(parse_schedule("schedule v1\nnarrow p1 i8\n").status().message()),
              HasSubstr("bf16 or f16"));
}

TEST(DefaultSchedule, MultipliesGroupsOfBfloatsOnlyIfAllowed) {
  const tensor::Workload workload = product(64, 64, 64);
  EXPECT_THAT(default_text(workload, "x86_64:cpu=znver4", {}), Not(HasSubstr("narrow")));
  EXPECT_THAT(default_text(workload, "x86_64:cpu=znver4", {kFp16}), Not(HasSubstr("narrow")));
  EXPECT_THAT(default_text(workload, "x86_64:cpu=znver4", {kBf16}),
              AllOf(HasSubstr("narrow p1 bf16"), HasSubstr("narrow p0.pack bf16")));
  // No such instruction, and too little to read.
  EXPECT_THAT(default_text(workload, "x86_64:cpu=haswell", {kBf16}), Not(HasSubstr("narrow")));
  // An odd number of terms makes no pairs; run-time operands are not packed beforehand.
  EXPECT_THAT(default_text(product(64, 63, 64), "x86_64:cpu=znver4", {kBf16}), Not(HasSubstr("narrow")));
  EXPECT_THAT(default_text(product(64, 64, 64, false), "x86_64:cpu=znver4", {kBf16}),
              Not(HasSubstr("narrow")));
}

TEST(DefaultSchedule, StoresThePaddedImageOfAConvolutionAsBfloats) {
  EXPECT_THAT(default_text(convolution(64, 14, 64), "x86_64:cpu=znver4", {kBf16}, channels_innermost(16)),
              AllOf(HasSubstr("narrow p1 bf16"), HasSubstr("narrow t0 bf16")));
}

TEST(DefaultSchedule, StoresWeightsNarrowerWhereReadingThemTakesTheTime) {
  const tensor::Workload vector = product(1, 1024, 1024);
  for (const char* target : {"x86_64:cpu=haswell", "aarch64:cpu=cortex-a72"}) {
    EXPECT_THAT(default_text(vector, target, {kBf16, kFp16}),
                AllOf(HasSubstr("narrow p1 f16"), Not(HasSubstr("narrow p0"))));
    EXPECT_THAT(default_text(vector, target, {kBf16}),
                AllOf(HasSubstr("narrow p1 bf16"), Not(HasSubstr("narrow p0"))));
    EXPECT_THAT(default_text(product(256, 1024, 64), target, {kBf16, kFp16}), Not(HasSubstr("narrow")));
  }
  EXPECT_THAT(default_text(vector, "x86_64:cpu=znver4", {kFp16}), HasSubstr("narrow p1 f16"));
}

// Folded along the row, which is how memory runs.
TEST(DefaultSchedule, StoresTheRowsOfAMatrixByAVectorNarrower) {
  const absl::StatusOr<tensor::Workload> vector = tensor::parse_workload(
      "workload v1\ninput p0: f32[1, 1024]\nconstant p1: f32[512, 1024]\n"
      "stage t0: f32[i0 < 1, i1 < 512] = reduce sum[r0 < 1024] p0[i0, r0] * p1[i1, r0]\noutput t0\n");
  ASSERT_TRUE(vector.ok()) << vector.status();
  EXPECT_THAT(default_text(*vector, "x86_64:cpu=znver4", {}),
              AllOf(HasSubstr("rfactor"), Not(HasSubstr("narrow"))));
  EXPECT_THAT(default_text(*vector, "x86_64:cpu=znver4", {kBf16}),
              AllOf(HasSubstr("narrow p1 bf16"), HasSubstr("rfactor")));
  EXPECT_THAT(default_text(*vector, "x86_64:cpu=znver4", {kFp16}),
              AllOf(HasSubstr("narrow p1 f16"), HasSubstr("rfactor")));
}

}  // namespace
}  // namespace tf::schedule
