// Winograd convolutions: the matrices, the step, the schedules made with it, and their errors.

#include "compiler/recipes/emit/winograd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/ops/builder.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/recipes/recipes.h"
#include "compiler/schedule/cook_toom.h"
#include "compiler/schedule/numerics.h"
#include "tests/support/schedule/examples.h"

namespace tf::schedule {
namespace {

using tensor::imm;
using test::channels_innermost;
using test::znver4;

struct Shape {
  int64_t batch = 1, in = 16, height = 8, width = 8, out = 16, kernel = 3, stride = 1, groups = 1, pad = 1;
};

tensor::Workload convolution(const Shape& s, bool constant = true) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(s.batch), imm(s.in), imm(s.height), imm(s.width)});
  const std::vector<tensor::Expr> extents = {imm(s.out), imm(s.in / s.groups), imm(s.kernel), imm(s.kernel)};
  auto w = constant ? b.constant("w", tensor::Element::kFloat32, extents)
                    : b.input("w", tensor::Element::kFloat32, extents);
  auto bias = b.constant("b", tensor::Element::kFloat32, {imm(s.out)});
  auto y = ops::conv(b, x, w,
                     {.strides = {s.stride, s.stride},
                      .pads_begin = {s.pad, s.pad},
                      .pads_end = {s.pad, s.pad},
                      .groups = s.groups});
  return *b.finish({ops::relu(b, ops::bias_add(b, y, bias))});
}

std::optional<Illegal> reason_of(const tensor::Workload& workload, int64_t tile) {
  State state(workload);
  const std::optional<StepError> error = state.apply(Winograd{"t1", tile});
  return error ? std::optional(error->reason) : std::nullopt;
}

TEST(CookToom, GivesFilteringByFewerProducts) {
  for (const auto& [m, taps] : {std::pair<int64_t, int64_t>(2, 3), {4, 3}, {6, 3}, {2, 5}, {4, 5}}) {
    const CookToom c = cook_toom(m, taps);
    const int64_t a = c.points;
    std::mt19937 random(1);
    auto draw = [&] { return static_cast<double>(random() % 1000) / 500 - 1; };
    std::vector<double> d, g, products;
    for (int64_t j = 0; j < taps; ++j) g.push_back(draw());
    for (int64_t i = 0; i < a; ++i) d.push_back(draw());
    for (int64_t i = 0; i < a; ++i) {
      double u = 0, v = 0;
      for (int64_t j = 0; j < taps; ++j)
        u += c.filter[static_cast<size_t>(i * taps + j)] * g[static_cast<size_t>(j)];
      for (int64_t j = 0; j < a; ++j)
        v += c.input[static_cast<size_t>(i * a + j)] * d[static_cast<size_t>(j)];
      products.push_back(u * v);
    }
    for (int64_t k = 0; k < m; ++k) {
      double y = 0, want = 0;
      for (int64_t i = 0; i < a; ++i)
        y += c.output[static_cast<size_t>(k * a + i)] * products[static_cast<size_t>(i)];
      for (int64_t j = 0; j < taps; ++j) want += g[static_cast<size_t>(j)] * d[static_cast<size_t>(k + j)];
      EXPECT_NEAR(y, want, 1e-13) << "F(" << m << "," << taps << ") output " << k;
    }
  }
}

TEST(Winograd, PutsTransformsAndAProductInPlaceOfTheConvolution) {
  State state(convolution({.height = 10, .width = 9}));
  ASSERT_FALSE(state.apply(Winograd{"t1", 4}));
  std::vector<std::string> names;
  for (const StageState& stage : state.stages()) names.push_back(stage.name);
  EXPECT_THAT(names, ::testing::ElementsAre("t0", "t1.bd", "t1.v", "t1.m", "t1.am", "t1", "t2", "t3"));
  EXPECT_EQ(state.data().maps.at("p1").size(), 2u);
  EXPECT_EQ(tensor::as_int(state.workload().inputs[1].buffer->extents[2]), 6);
}

TEST(Winograd, IsLegalForSmallFiltersOfStrideOneInF32Only) {
  EXPECT_EQ(reason_of(convolution({}), 4), std::nullopt);
  EXPECT_EQ(reason_of(convolution({.groups = 2}), 2), std::nullopt);
  EXPECT_EQ(reason_of(convolution({}), 3), Illegal::kBadFactor);
  EXPECT_EQ(reason_of(convolution({.kernel = 5, .pad = 2}), 4), std::nullopt);
  EXPECT_EQ(reason_of(convolution({.kernel = 5, .pad = 2}), 6), Illegal::kBadFactor);
  EXPECT_EQ(reason_of(convolution({.kernel = 7, .pad = 3}), 2), Illegal::kNotWinograd);
  EXPECT_EQ(reason_of(convolution({.stride = 2}), 4), Illegal::kNotWinograd);
  EXPECT_EQ(reason_of(convolution({.groups = 16}), 4), Illegal::kNotWinograd);
  EXPECT_EQ(reason_of(convolution({}, /*constant=*/false), 4), Illegal::kNotWinograd);
  State twice(convolution({}));
  ASSERT_FALSE(twice.apply(Winograd{"t1", 4}));
  EXPECT_EQ(twice.apply(Winograd{"t1", 4})->reason, Illegal::kNotWinograd);
  State packed(convolution({}));
  ASSERT_FALSE(packed.apply(LayoutRewrite{"p1", tensor::Layout{{{1, 0}, {0, 0}, {2, 0}, {3, 0}}}}));
  EXPECT_EQ(packed.apply(Winograd{"t1", 4})->reason, Illegal::kBadLayout);
}

TEST(Winograd, SaysWhichTileIsLegalForTheFilter) {
  const Schedule too_large{{Winograd{"t1", 6}}};
  const absl::Status refused = apply(convolution({.kernel = 5, .pad = 2}), too_large).status();
  EXPECT_THAT(std::string(refused.message()),
              testing::HasSubstr("tile 6 is too large for the 5x5 weights of t1; at most 4 is legal"));
}

TEST(DefaultSchedule, TakesWinogradOnlyIfAllowedAndWorthIt) {
  const tensor::Workload worth = convolution({.in = 64, .height = 56, .width = 56, .out = 64});
  const tensor::PortLayouts ports = channels_innermost(16);
  EXPECT_TRUE(numerics_of(recipes::default_schedule({.workload = worth, .ports = ports, .target = znver4()}))
                  .empty());
  EXPECT_EQ(numerics_of(recipes::default_schedule(
                {.workload = worth, .ports = ports, .target = znver4(), .allowed = {kWinograd}})),
            Numerics{kWinograd});
  // Two pixels: transforms of whole tiles for little.
  const tensor::Workload tiny = convolution({.in = 64, .height = 1, .width = 2, .out = 64});
  EXPECT_TRUE(numerics_of(recipes::default_schedule(
                              {.workload = tiny, .ports = ports, .target = znver4(), .allowed = {kWinograd}}))
                  .empty());
  // Rows innermost: channels are no vectors.
  EXPECT_TRUE(
      numerics_of(recipes::default_schedule({.workload = worth, .target = znver4(), .allowed = {kWinograd}}))
          .empty());
}

TEST(Numerics, KnowsTheNamesThatUsersMayAllow) {
  EXPECT_EQ(*parse_numerics("winograd,bf16,winograd"), (Numerics{"bf16", "winograd"}));
  EXPECT_THAT(std::string(parse_numerics("bf16,magic").status().message()),
              ::testing::HasSubstr("does not know \"magic\""));
}

TEST(DefaultWinogradTiling, ReadsWeightsBeyondL2OnceIfL2HasRoomForAllTiles) {
  const tensor::Workload workload = convolution({.in = 512, .height = 7, .width = 7, .out = 512});
  const std::optional<recipes::WinogradFrame> frame =
      recipes::winograd_frame({.workload = workload, .ports = channels_innermost(16), .target = znver4()}, 2);
  ASSERT_TRUE(frame);
  const recipes::WinogradTiling tiling = recipes::default_winograd_tiling(*frame, znver4(), 1);
  EXPECT_GE(tiling.block_h.value, frame->tiles_h);
  EXPECT_GE(tiling.block_w.value, frame->tiles_w);
  EXPECT_GE(tiling.rows_h.value * tiling.rows_w.value, 8) << "weights pass by once a register tile";
}

TEST(WinogradFrame, TakesGroupsOfWholeVectors) {
  auto frame_of = [](const Shape& shape) {
    const tensor::Workload workload = convolution(shape);
    return recipes::winograd_frame(
        {.workload = workload, .ports = channels_innermost(16), .target = znver4()}, 4);
  };
  const std::optional<recipes::WinogradFrame> frame = frame_of({.in = 64, .out = 96, .groups = 2});
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->in_channels, 32);
  EXPECT_EQ(frame->all_in_channels, 64);
  EXPECT_FALSE(frame_of({.in = 64, .out = 80, .groups = 2})) << "a vector would be of two groups";
}

}  // namespace
}  // namespace tf::schedule
