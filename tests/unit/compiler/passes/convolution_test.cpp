// The default schedules of convolutions, on targets with caches so small that small convolutions are tiled
// and summed in parts as large ones are, against the workload's definition in double precision.

#include "compiler/ops/convolution.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/ops/builder.h"
#include "compiler/ops/elementwise.h"
#include "compiler/schedule/default_schedule.h"
#include "tests/unit/compiler/passes/lowered_run.h"

namespace tf::testing {
namespace {

using tensor::imm;

constexpr auto kFloat = tensor::Element::kFloat32;

struct Convolution {
  const char* name;
  int64_t in, out, height, width, kernel = 1, stride = 1;
  bool bias = true;
  bool sums_parts = false;
};

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
      const schedule::PortLayouts ports{{blocked}, {blocked}};
      const schedule::Schedule schedule = schedule::default_schedule(workload, ports, target, threads);
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
        Convolution{.name = "one_result", .in = 32, .out = 1, .height = 1, .width = 1},
        Convolution{.name = "strided_places", .in = 32, .out = 20, .height = 9, .width = 7, .stride = 2}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace tf::testing
