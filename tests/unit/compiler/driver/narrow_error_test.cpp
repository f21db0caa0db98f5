// How far products of factors stored as bf16 or f16 are from float64, and that the answer check's tolerance
// bounds it.

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/matmul.h"
#include "compiler/schedule/tolerance.h"
#include "tests/unit/compiler/driver/narrow_schedule.h"
#include "tests/unit/compiler/driver/relative_error.h"

namespace tf::driver {
namespace {

using tensor::Element;
using tensor::imm;

struct NarrowCase {
  int64_t m, k, n;
  int threads = 1;
};

std::string name_of(const NarrowCase& c) {
  return absl::StrCat(c.m, "x", c.k, "x", c.n, "_threads_", c.threads);
}

void PrintTo(const NarrowCase& c, std::ostream* out) {
  *out << name_of(c);
}

tensor::Workload product(const NarrowCase& c) {
  ops::Builder b;
  auto x = b.input("x", Element::kFloat32, {imm(c.m), imm(c.k)});
  auto w = b.constant("w", Element::kFloat32, {imm(c.k), imm(c.n)});
  return *b.finish({ops::matmul(b, x, w)});
}

class NarrowError : public ::testing::TestWithParam<NarrowCase> {};

TEST_P(NarrowError, OfProductsIsWithinTheTolerance) {
  const NarrowCase& c = GetParam();
  const tensor::Workload workload = product(c);
  // This machine's instructions, and the ways without them.
  for (const char* name : {"host", "x86_64:cpu=haswell", "x86_64:cpu=nehalem"}) {
    const target::Target target = *target::parse_target(name);
    if (target.arch != target::host_target().arch) continue;
    for (const char* numerics : {schedule::kBf16, schedule::kFp16}) {
      const bool half = numerics == schedule::kFp16;
      const schedule::Schedule schedule =
          test::narrow_schedule({.workload = workload, .target = target, .threads = c.threads}, numerics);
      EXPECT_EQ(schedule::numerics_of(schedule), schedule::Numerics{numerics});
      const double error = test::relative_error(workload, schedule, {}, c.threads, target);
      EXPECT_LE(error, tolerance(workload, schedule)) << name;
      const double unit = half ? 0x1p-11 : 0x1p-8;
      RecordProperty(std::string(name) + (half ? " f16" : " bf16"), std::to_string(error / unit));
      EXPECT_LE(error, 2 * unit) << name;
      EXPECT_GT(error, 0) << "random inputs are not exact in 16 bits";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, NarrowError,
                         ::testing::Values(NarrowCase{1, 16, 16}, NarrowCase{1, 1024, 64},
                                           NarrowCase{5, 64, 33}, NarrowCase{33, 130, 47, 2},
                                           NarrowCase{7, 17, 3}, NarrowCase{64, 1024, 48, 2},
                                           NarrowCase{1, 1, 1}),
                         [](const auto& each) { return name_of(each.param); });

TEST(NarrowError, OfConvolutionsIsWithinTheTolerance) {
  for (const auto& [channels, extent, out, taps] :
       {std::tuple<int64_t, int64_t, int64_t, int64_t>(16, 9, 32, 3),
        {32, 7, 48, 1},
        {64, 5, 16, 3},
        {3, 9, 16, 3}}) {
    ops::Builder b;
    auto x = b.input("x", Element::kFloat32, {imm(1), imm(channels), imm(extent), imm(extent)});
    auto w = b.constant("w", Element::kFloat32, {imm(out), imm(channels), imm(taps), imm(taps)});
    const std::vector<int64_t> pads(2, taps / 2);
    const tensor::Workload workload =
        *b.finish({ops::relu(b, ops::conv(b, x, w, {.pads_begin = pads, .pads_end = pads}))});
    const target::Target target = target::host_target();
    const tensor::Layout layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, target.fp32_lanes()}}};
    const tensor::PortLayouts ports{{channels % target.fp32_lanes() == 0 ? layout : tensor::Layout{}},
                                    {layout}};
    for (const char* numerics : {schedule::kBf16, schedule::kFp16}) {
      const bool half = numerics == schedule::kFp16;
      const schedule::Schedule schedule = test::narrow_schedule(
          {.workload = workload, .ports = ports, .target = target, .threads = 2}, numerics);
      const double error = test::relative_error(workload, schedule, ports, 2);
      EXPECT_LE(error, tolerance(workload, schedule));
      EXPECT_LE(error, half ? 0x1p-10 : 0x1p-7);
      EXPECT_GT(error, 0);
    }
  }
}

}  // namespace
}  // namespace tf::driver
