// What the untuned choice is like: that it is legal and right for every operator, tests/unit/compiler/passes
// checks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/fold_transposes.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/movement.h"
#include "compiler/ops/reduction.h"
#include "compiler/recipes/recipes.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::schedule {
namespace {

using tensor::imm;
using ::testing::HasSubstr;
using ::testing::Not;

tensor::Workload conv_relu(int64_t channels_in, int64_t channels_out, int64_t size) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(1), imm(channels_in), imm(size), imm(size)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(channels_out), imm(channels_in), imm(3), imm(3)});
  return *b.finish({ops::relu(b, ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}}))});
}

tensor::PortLayouts blocked(int lanes) {
  const tensor::Layout layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, lanes}}};
  return {{layout}, {layout}};
}

TEST(DefaultSchedule, TilesAConvolutionInRegisters) {
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  const tensor::Workload workload = conv_relu(64, 64, 56);
  const Schedule schedule =
      recipes::default_schedule({.workload = workload, .ports = blocked(16), .target = target});
  const absl::StatusOr<State> state = apply(workload, schedule);
  ASSERT_TRUE(state.ok()) << state.status();
  const StageState* conv = state->data().find_stage("t1");
  EXPECT_EQ(conv->place, StageState::Place::kAt);
  EXPECT_EQ(conv->scope, tensor::Scope::kRegister);
  int64_t accumulators = 1;
  for (int64_t extent : conv->region) accumulators *= extent;
  EXPECT_LE(accumulators / 16, target.vector.registers - 2);
  EXPECT_GE(accumulators / 16, 8) << "enough to hide the latency of the multiply-adds";
  EXPECT_EQ(conv->loops.back().annotation, Annotation::kVectorize);
  // The vectors of a row stand together, next to the lanes.
  EXPECT_EQ(conv->loops[conv->loops.size() - 2].name, "i1.0");
  EXPECT_THAT(to_string(schedule), HasSubstr("layout_rewrite p1 "));
}

TEST(DefaultSchedule, TilesAConvolutionOfOnePlaceToo) {
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(1), imm(64), imm(28), imm(28)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(128), imm(64), imm(1), imm(1)});
  const tensor::Workload workload = *b.finish({ops::relu(b, ops::conv(b, x, w, {}))});
  const absl::StatusOr<State> state = apply(
      workload, recipes::default_schedule({.workload = workload, .ports = blocked(16), .target = target}));
  ASSERT_TRUE(state.ok()) << state.status();
  const StageState* conv = state->data().find_stage("t0");
  EXPECT_EQ(conv->scope, tensor::Scope::kRegister);
  EXPECT_FALSE(conv->loops.back().reduce) << "its lanes are folded";
}

// The state of a 1x1 convolution's default schedule.
State pointwise(int64_t channels_in, int64_t channels_out, int64_t size, std::string_view target_text,
                int lanes, int threads = 1) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(1), imm(channels_in), imm(size), imm(size)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(channels_out), imm(channels_in), imm(1), imm(1)});
  const tensor::Workload workload = *b.finish({ops::relu(b, ops::conv(b, x, w, {}))});
  const target::Target target = target::parse_target(target_text).value();
  return apply(workload,
               recipes::default_schedule(
                   {.workload = workload, .ports = blocked(lanes), .target = target, .threads = threads}))
      .value();
}
int64_t extent_of_loop(const State& state, std::string_view stage, std::string_view loop) {
  const StageState* found = state.data().find_stage(stage);
  return found->loops[static_cast<size_t>(found->find_loop(loop))].extent;
}

// Places of a row in a register tile of a 1x1 convolution.
int64_t rows_of_tile(int64_t channels_in, int64_t channels_out, int64_t size) {
  const State state = pointwise(channels_in, channels_out, size, "x86_64:cpu=znver4", 16);
  const std::vector<SymInt>& region = state.data().find_stage("t0")->region;
  return region[2] * region[3];
}

TEST(DefaultSchedule, TakesMoreRowsATileWhereWeightsComeFromBeyondL1) {
  EXPECT_LE(rows_of_tile(64, 64, 56), 6) << "16 KiB of weights stay in L1: fewest loads";
  EXPECT_GE(rows_of_tile(256, 64, 56), 12) << "64 KiB of them pass by once a tile";
}

TEST(DefaultSchedule, PassesRowsByAllColumnsWhereTheImageTakesMoreThanHalfOfL2) {
  const char* znver4 = "x86_64:cpu=znver4";  // 1 MiB
  EXPECT_EQ(extent_of_loop(pointwise(256, 64, 56, znver4, 16), "t1", "i1.1"), 2);
  EXPECT_EQ(extent_of_loop(pointwise(256, 64, 20, znver4, 16), "t1", "i1.1"), 1) << "400 KiB";
  // 56 KiB for each of the image's 28 rows: blocks of seven, also where columns do not fit L2 beside them.
  for (const int64_t channels_out : {128, 512}) {
    const State state = pointwise(512, channels_out, 28, znver4, 16);
    EXPECT_EQ(extent_of_loop(state, "t1", "i1.0"), 1) << channels_out;
    EXPECT_EQ(extent_of_loop(state, "t1", "i2.0"), 4) << channels_out;
  }
  const State shared = pointwise(512, 128, 28, znver4, 16, /*threads=*/4);
  const StageState* output = shared.data().find_stage("t1");
  EXPECT_EQ(output->loops.front().annotation, Annotation::kParallel);
  EXPECT_GE(output->loops.front().extent, 14) << "enough blocks for 4 threads";
  // 8 MiB of columns come from memory: once.
  EXPECT_EQ(extent_of_loop(pointwise(1024, 2048, 14, znver4, 16), "t1", "i1.1"), 1);
}

TEST(DefaultSchedule, TakesTilesOfSeveralVectorsOnSixteenRegisters) {
  // One vector needs a broadcast for each multiply-add, which is more than load ports give.
  for (const int64_t size : {7, 13, 14, 28}) {
    const State state = pointwise(512, 512, size, "x86_64:cpu=haswell", 8);
    const std::vector<SymInt>& region = state.data().find_stage("t0")->region;
    EXPECT_GE(region[1], 16) << size;
    EXPECT_GE(region[1] / 8 * region[2] * region[3], 10) << size;
  }
}

TEST(DefaultSchedule, SumsAConvolutionInPartsWhereWeightsOfATileDoNotFitL2) {
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  EXPECT_THAT(to_string(recipes::default_schedule(
                  {.workload = conv_relu(512, 512, 7), .ports = blocked(16), .target = target})),
              HasSubstr("rfactor t1 "));
  EXPECT_THAT(to_string(recipes::default_schedule(
                  {.workload = conv_relu(256, 256, 14), .ports = blocked(16), .target = target})),
              Not(HasSubstr("rfactor")));
}

TEST(DefaultSchedule, SumsAProductInPartsWhereRowsOfColumnsShareSetsOfL2) {
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  auto text = [&](int64_t m, int64_t n, int64_t k, tensor::Element element = tensor::Element::kFloat32) {
    ops::Builder b;
    auto x = b.input("x", element, {imm(m), imm(k)});
    auto w = b.input("w", element, {imm(k), imm(n)});
    return to_string(
        recipes::default_schedule({.workload = *b.finish({ops::matmul(b, x, w)}), .target = target}));
  };
  EXPECT_THAT(text(16, 1024, 1024), AllOf(HasSubstr("split t0 r0 32 "), HasSubstr("rfactor t0 ")));
  EXPECT_THAT(text(48, 768, 3072), AllOf(HasSubstr("split t0 r0 64 "), HasSubstr("rfactor t0 ")));
  EXPECT_THAT(text(24, 768, 768), Not(HasSubstr("rfactor"))) << "L2 holds 896 of these rows";
  EXPECT_THAT(text(64, 512, 512), Not(HasSubstr("rfactor"))) << "it holds most of 512";
  EXPECT_THAT(text(4, 1024, 1024), Not(HasSubstr("rfactor"))) << "one tile has all rows";
  EXPECT_THAT(text(256, 1024, 1024), AllOf(HasSubstr("cache_read p1 "), Not(HasSubstr("rfactor"))));
  EXPECT_THAT(text(16, 4096, 1024, tensor::Element::kInt8), Not(HasSubstr("rfactor"))) << "packed for dots";
}

TEST(DefaultSchedule, UsesThreadsOnlyWhereThereAreAny) {
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  const tensor::Workload workload = conv_relu(16, 32, 28);
  EXPECT_THAT(to_string(recipes::default_schedule(
                  {.workload = workload, .ports = blocked(16), .target = target, .threads = 2})),
              HasSubstr(" parallel"));
  EXPECT_THAT(
      to_string(recipes::default_schedule({.workload = workload, .ports = blocked(16), .target = target})),
      Not(HasSubstr(" parallel")));
}

// Iterations of the parallel loop of the stage that is tiled.
int64_t parallel_iterations(const tensor::Workload& workload, const tensor::PortLayouts& ports, int threads) {
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  const State state =
      apply(workload, recipes::default_schedule(
                          {.workload = workload, .ports = ports, .target = target, .threads = threads}))
          .value();
  for (const Loop& loop :
       state.data().find_stage(recipes::stage_name(static_cast<int>(workload.stages.size()) - 1))->loops)
    if (loop.annotation == Annotation::kParallel) return loop.extent;
  return 0;
}

TEST(DefaultSchedule, DealsEqualSharesToThreads) {
  // 14 rows in tiles of two would be seven pieces: four for one thread and three for the other.
  EXPECT_EQ(parallel_iterations(conv_relu(384, 64, 14), blocked(16), 2) % 2, 0);
  // One row of results: threads share the columns.
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(1), imm(1280)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(1280), imm(1000)});
  EXPECT_GE(parallel_iterations(*b.finish({ops::relu(b, ops::matmul(b, x, w))}), {}, 2), 2);
}

TEST(DefaultSchedule, ComputesASoftmaxRowByRow) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(6), imm(200)});
  const tensor::Workload workload = *b.finish({ops::softmax(b, x, 1)});
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  const absl::StatusOr<State> state =
      apply(workload, recipes::default_schedule({.workload = workload, .target = target}));
  ASSERT_TRUE(state.ok()) << state.status();
  const StageState* exponentials = state->data().find_stage("t1");
  EXPECT_EQ(exponentials->place, StageState::Place::kAt);
  EXPECT_EQ(exponentials->region, (std::vector<SymInt>{1, 200}));
  EXPECT_EQ(exponentials->loops.back().annotation, Annotation::kVectorize);
  const StageState* sum = state->data().find_stage("t2");
  EXPECT_EQ(sum->loops.back().annotation, Annotation::kVectorize);
  EXPECT_TRUE(sum->loops.back().reduce);
}

TEST(DefaultSchedule, NeverHoldsAllScoresOfAttention) {
  ops::Builder b;
  auto input = [&](int64_t rows, int64_t columns) {
    return b.input("x", tensor::Element::kFloat32, {imm(4), imm(rows), imm(columns)});
  };
  const auto scores = ops::matmul(b, input(128, 64), input(64, 256));
  const tensor::Workload workload = *b.finish({ops::matmul(b, ops::softmax(b, scores, 2), input(256, 64))});
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  const absl::StatusOr<State> state =
      apply(workload, recipes::default_schedule({.workload = workload, .target = target, .threads = 2}));
  ASSERT_TRUE(state.ok()) << state.status();
  for (const StageState& stage : state->stages()) {
    if (state->data().is_output(stage)) continue;
    EXPECT_EQ(stage.place, StageState::Place::kAt) << stage.name;
    int64_t elements = 1;
    for (int64_t extent : stage.region) elements *= extent;
    EXPECT_LE(elements, 16 * 256) << stage.name;
  }
  EXPECT_EQ(state->data().find_stage("t0.acc")->scope, tensor::Scope::kRegister);
}

TEST(DefaultSchedule, ComputesAttentionWithoutABatch) {
  ops::Builder b;
  auto input = [&](int64_t rows, int64_t columns) {
    return b.input("x", tensor::Element::kFloat32, {imm(rows), imm(columns)});
  };
  const auto weights = ops::softmax(b, ops::matmul(b, input(15, 8), input(8, 31)), 1);
  const tensor::Workload workload = *b.finish({ops::matmul(b, weights, input(31, 16))});
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  for (const int threads : {1, 2}) {
    const absl::StatusOr<State> state = apply(
        workload, recipes::default_schedule({.workload = workload, .target = target, .threads = threads}));
    ASSERT_TRUE(state.ok()) << state.status();
    for (const StageState& stage : state->stages())
      EXPECT_TRUE(state->data().is_output(stage) || stage.place == StageState::Place::kAt) << stage.name;
  }
}

TEST(DefaultSchedule, ReadsAndWritesHeadsOfAttentionWhereTheyLie) {
  ops::Builder b;
  auto heads = [&](std::vector<int64_t> perm) {
    return ops::transpose(b, b.input("x", tensor::Element::kFloat32, {imm(1), imm(128), imm(4), imm(64)}),
                          std::move(perm));
  };
  const auto keys = b.input("k", tensor::Element::kFloat32, {imm(1), imm(4), imm(64), imm(128)});
  const auto weights = ops::softmax(b, ops::matmul(b, heads({0, 2, 1, 3}), keys), 3);
  const auto result = ops::matmul(b, weights, heads({0, 2, 1, 3}));
  const tensor::Workload workload =
      ops::fold_transposes(*b.finish({ops::transpose(b, result, {0, 2, 1, 3})}));
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  const absl::StatusOr<State> state =
      apply(workload, recipes::default_schedule({.workload = workload, .target = target, .threads = 2}));
  ASSERT_TRUE(state.ok()) << state.status();
  int in_registers = 0;
  for (const StageState& stage : state->stages()) {
    EXPECT_TRUE(state->data().is_output(stage) || stage.place != StageState::Place::kRoot) << stage.name;
    in_registers += stage.name.ends_with(".acc") && stage.scope == tensor::Scope::kRegister;
  }
  EXPECT_EQ(in_registers, 2);
}

TEST(DefaultSchedule, FallsBackToPlainLoopsForAScalar) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {});
  const tensor::Workload workload = *b.finish({ops::relu(b, x)});
  const Schedule schedule = recipes::default_schedule(
      {.workload = workload, .target = target::parse_target("x86_64").value(), .threads = 2});
  EXPECT_TRUE(apply(workload, schedule).ok());
}

// y[i] = x[…, i, 0]: along an axis of one element no memory runs.
TEST(DefaultSchedule, MovesAConcatenationToAnotherOrderInSquares) {
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  ops::Builder b;
  const auto map = [&](const char* name, int64_t channels) {
    return b.input(name, tensor::Element::kFloat32, {imm(1), imm(channels), imm(14), imm(14)});
  };
  const tensor::Workload workload = *b.finish({ops::concat(b, {map("x", 392), map("y", 32)}, 1)});
  const tensor::Layout by_channels = blocked(16).inputs[0];
  const auto text = [&](const tensor::PortLayouts& ports) {
    return to_string(recipes::default_schedule({.workload = workload, .ports = ports, .target = target}));
  };
  EXPECT_THAT(text({{by_channels, by_channels}, {}}), HasSubstr("split t0 i1 16 guard\n"
                                                                "split t0 i3 16 guard\n"
                                                                "reorder t0 i0,i1.0,i2,i3.0,i1.1,i3.1\n"));
  // Vectors stay where one of the pieces need not be gathered.
  EXPECT_THAT(text({{by_channels, {}}, {}}), HasSubstr("vectorize"));
  EXPECT_THAT(text({}), HasSubstr("vectorize"));
}

TEST(DefaultSchedule, CopiesAlongTheLastAxisOfMoreThanOneElementInVectors) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(64), imm(1)});
  auto y = b.compute("copy", tensor::Element::kFloat32, {imm(64)}, [&](ops::Indices i) {
    return ops::at(x, {i[0], imm(int64_t{0})});
  });
  const tensor::Workload workload = *b.finish({y});
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  EXPECT_THAT(to_string(recipes::default_schedule({.workload = workload, .target = target})),
              HasSubstr("vectorize"));
}

}  // namespace
}  // namespace tf::schedule
