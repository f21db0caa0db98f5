// The default schedules of convolutions, on targets with caches so small that small convolutions are tiled
// and summed in parts as large ones are, against the workload's definition in double precision.

#include "compiler/ops/convolution.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/elementwise.h"
#include "compiler/recipes/emit/winograd.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/passes/lowered_run.h"

namespace tf::test {
namespace {

using tensor::imm;

constexpr auto kFloat = tensor::Element::kFloat32;

struct Convolution {
  const char* name;
  int64_t in, out, height, width, kernel = 1, stride = 1;
  bool bias = true;
  bool sums_parts = false;
};
void PrintTo(const Convolution& each, std::ostream* out) {
  *out << each.name;
}

tensor::Workload workload_of(const Convolution& c) {
  ops::Builder b;
  const auto x = b.input("x", kFloat, {imm(1), imm(c.in), imm(c.height), imm(c.width)});
  const auto w = b.constant("w", kFloat, {imm(c.out), imm(c.in), imm(c.kernel), imm(c.kernel)});
  const std::vector<int64_t> pads(2, c.kernel / 2);
  auto y = ops::conv(b, x, w, {.strides = {c.stride, c.stride}, .pads_begin = pads, .pads_end = pads});
  if (c.bias) y = ops::relu(b, ops::bias_add(b, y, b.constant("b", kFloat, {imm(c.out)})));
  return *b.finish({y});
}

class DefaultConvolution : public ::testing::TestWithParam<Convolution> {};

TEST_P(DefaultConvolution, AgreesWithItsDefinition) {
  const Convolution& convolution = GetParam();
  const tensor::Workload workload = workload_of(convolution);
  for (const char* text : {"x86_64:cpu=znver4,l1=1K,l2=48K", "x86_64:cpu=haswell,l1=1K,l2=48K"}) {
    const target::Target target = target::parse_target(text).value();
    const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, target.fp32_lanes()}}};
    for (int threads : {1, 2}) {
      const tensor::PortLayouts ports{{blocked}, {blocked}};
      const schedule::Schedule schedule = recipes::default_schedule(
          {.workload = workload, .ports = ports, .target = target, .threads = threads});
      const std::string steps = schedule::to_string(schedule);
      EXPECT_EQ(absl::StrContains(steps, "rfactor"), convolution.sums_parts) << steps;
      check_schedule(workload, schedule, ports, 1, absl::StrCat(text, ", ", threads, " threads"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Small, DefaultConvolution,
    ::testing::Values(
        Convolution{.name = "sums_in_parts",
                    .in = 128,
                    .out = 32,
                    .height = 5,
                    .width = 3,
                    .kernel = 3,
                    .sums_parts = true},
        Convolution{.name = "sums_in_parts_without_epilogue",
                    .in = 128,
                    .out = 33,
                    .height = 12,
                    .width = 11,
                    .kernel = 3,
                    .stride = 2,
                    .bias = false,
                    .sums_parts = true},
        Convolution{.name = "long_sum_of_one_place",
                    .in = 1024,
                    .out = 16,
                    .height = 7,
                    .width = 7,
                    .sums_parts = true},
        Convolution{.name = "one_row_of_tiles", .in = 128, .out = 16, .height = 1, .width = 1, .kernel = 3},
        Convolution{.name = "columns_in_l2", .in = 32, .out = 48, .height = 3, .width = 14},
        Convolution{.name = "image_beyond_l2", .in = 32, .out = 47, .height = 27, .width = 18},
        Convolution{.name = "one_result", .in = 32, .out = 1, .height = 1, .width = 1},
        Convolution{.name = "strided_places", .in = 32, .out = 20, .height = 9, .width = 7, .stride = 2}),
    [](const auto& param) { return param.param.name; });

TEST(GroupedWinograd, AgreesWithItsDefinition) {
  const target::Target target = target::parse_target("x86_64:cpu=znver4").value();
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>(7, 5), {1, 1}, {6, 13}}) {
    ops::Builder b;
    const auto x = b.input("x", kFloat, {imm(1), imm(48), imm(height), imm(width)});
    const auto w = b.constant("w", kFloat, {imm(96), imm(16), imm(3), imm(3)});
    const auto y = ops::conv(b, x, w, {.pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 3});
    const tensor::Workload workload = *b.finish({ops::relu(b, y)});
    const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}};
    const tensor::PortLayouts ports{{blocked}, {blocked}};
    for (const int64_t tile : {2, 4}) {
      const auto frame =
          recipes::winograd_frame({.workload = workload, .ports = ports, .target = target}, tile);
      ASSERT_TRUE(frame);
      for (const int threads : {1, 2}) {
        schedule::Schedule schedule;
        recipes::append_winograd(*frame, recipes::default_winograd_tiling(*frame, target, threads),
                                 schedule.steps);
        check_schedule(workload, schedule, ports, 1, absl::StrCat(height, "x", width, ", F(", tile, ",3)"));
      }
    }
  }
}

// A depthwise convolution computed, for `rows` rows of results at a time, where the following 1x1 reads it.
std::string separable_schedule(int rows, bool parallel) {
  const std::string loop = parallel ? "i0.0*i2.0" : "i2.0";
  std::string steps =
      absl::StrCat("schedule v1\ninline t0\nlayout_rewrite t2 0,1,2,3,1:16\ncache_write t3\n",
                   "split t3 i0 1,1 guard\nsplit t3 i1 2,1,16 guard\nsplit t3 i2 ", rows,
                   ",1 guard\nsplit t3 i3 2,4 guard\n",
                   "reorder t3 i0.0,i2.0,i1.0,i3.0,i0.1,i1.1,i2.1,i3.1,i0.2,i1.2,i2.2,i3.2,i1.3\n",
                   "annotate t3 i3.2 unroll\nannotate t3 i1.3 vectorize\n");
  if (parallel) absl::StrAppend(&steps, "fuse t3 i0.0,i2.0\nannotate t3 ", loop, " parallel\n");
  absl::StrAppend(&steps, "compute_at t3.acc t3 i3.1 register\nsplit t3.acc i1 16 guard\n",
                  "reorder t3.acc r0,r1,r2,i0,i2,i3,i1.0,i1.1\nannotate t3.acc i3 unroll\n",
                  "annotate t3.acc i1.1 vectorize\ncompute_at t2 t3 ", loop, " global\n",
                  "split t2 i1 16 guard\nsplit t2 i3 4 guard\nreorder t2 i0,i1.0,i2,i3.0,i3.1,i1.1\n",
                  "annotate t2 i3.1 unroll\nannotate t2 i1.1 vectorize\ncompute_at t1 t2 i3.0 register\n",
                  "split t1 i1 16 guard\nreorder t1 r0,r1,i0,i2,i3,i1.0,i1.1\nannotate t1 i3 unroll\n",
                  "annotate t1 i1.1 vectorize\npragma t1 unroll_limit 512\n");
  return steps;
}

TEST(Separable, AgreesWithItsDefinitionWhereTheDepthwisePartIsComputedInsideThe1x1) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>(5, 7), {1, 1}, {8, 4}}) {
    for (const int64_t stride : {1, 2}) {
      ops::Builder b;
      const auto x = b.input("x", kFloat, {imm(1), imm(24), imm(height), imm(width)});
      auto y =
          ops::conv(b, x, b.constant("d", kFloat, {imm(24), imm(1), imm(3), imm(3)}),
                    {.strides = {stride, stride}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .groups = 24});
      y = ops::conv(b, ops::clip(b, y, 0, 6), b.constant("w", kFloat, {imm(20), imm(24), imm(1), imm(1)}),
                    {});
      const tensor::Workload workload = *b.finish({y});
      const tensor::Layout blocked{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, 16}}};
      for (const int rows : {1, 2})
        for (const bool parallel : {false, true})
          check_schedule(workload, schedule::parse_schedule(separable_schedule(rows, parallel)).value(),
                         {{blocked}, {blocked}}, 1, absl::StrCat(height, "x", width, " by ", stride));
    }
  }
}

}  // namespace
}  // namespace tf::test
