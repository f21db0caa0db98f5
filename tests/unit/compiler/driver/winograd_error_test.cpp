// How far Winograd convolutions are from float64, and that the answer check's tolerance bounds it.

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/ops/convolution.h"
#include "compiler/recipes/emit/winograd.h"
#include "compiler/schedule/tolerance.h"
#include "tests/unit/compiler/driver/relative_error.h"

namespace tf::driver {
namespace {

using tensor::imm;

tensor::Workload convolution(int64_t channels, int64_t height, int64_t width, int64_t out, int64_t taps) {
  ops::Builder b;
  auto x = b.input("x", tensor::Element::kFloat32, {imm(1), imm(channels), imm(height), imm(width)});
  auto w = b.constant("w", tensor::Element::kFloat32, {imm(out), imm(channels), imm(taps), imm(taps)});
  return *b.finish(
      {ops::conv(b, x, w, {.pads_begin = {taps / 2, taps / 2}, .pads_end = {taps / 2, taps / 2}})});
}

struct WinogradCase {
  int64_t channels, height, width, out;
  int threads = 1;
  int64_t taps = 3;
};

std::string name_of(const WinogradCase& c) {
  return absl::StrCat(c.channels, "x", c.height, "x", c.width, "_to_", c.out, "_threads_", c.threads,
                      "_taps_", c.taps);
}

void PrintTo(const WinogradCase& c, std::ostream* out) {
  *out << name_of(c);
}

// The largest error by tile and taps that schedule/numerics.h states, in units of u.
const std::map<std::pair<int64_t, int64_t>, double> kStatedUnits = {
    {{2, 3}, 3.1}, {{4, 3}, 20}, {{6, 3}, 75}, {{2, 5}, 11}, {{4, 5}, 17}};

class WinogradError : public ::testing::TestWithParam<WinogradCase> {};

TEST_P(WinogradError, IsWithinTheToleranceOfItsTile) {
  const auto& [channels, height, width, out, threads, taps] = GetParam();
  const tensor::Workload workload = convolution(channels, height, width, out, taps);
  const target::Target target = target::host_target();
  const tensor::Layout layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, target.fp32_lanes()}}};
  const tensor::PortLayouts ports{{layout}, {layout}};
  for (int64_t tile : {2, 4, 6}) {
    const auto frame =
        recipes::winograd_frame({.workload = workload, .ports = ports, .target = target}, tile);
    EXPECT_EQ(frame.has_value(), tile + taps <= 9);
    if (!frame) continue;
    schedule::Schedule schedule;
    recipes::append_winograd(*frame, recipes::default_winograd_tiling(*frame, target, threads),
                             schedule.steps);
    const double error = test::relative_error(workload, schedule, ports, threads);
    RecordProperty("F" + std::to_string(tile) + std::to_string(taps), std::to_string(error * 0x1p24));
    EXPECT_LE(error, tolerance(workload, schedule)) << "F(" << tile << "," << taps << ")";
    // Other machines sum in another order: up to half as much again.
    EXPECT_LE(error * 0x1p24, 1.5 * kStatedUnits.at({tile, taps})) << "F(" << tile << "," << taps << ")";
    EXPECT_GT(error, 0) << "an exact answer to random inputs is no answer of f32";
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, WinogradError,
                         ::testing::Values(WinogradCase{16, 1, 1, 16}, WinogradCase{16, 7, 9, 16},
                                           WinogradCase{17, 5, 3, 33, 2}, WinogradCase{64, 8, 8, 16},
                                           WinogradCase{256, 6, 6, 16, 2}, WinogradCase{512, 4, 5, 16},
                                           WinogradCase{32, 9, 6, 16, 1, 5},
                                           WinogradCase{128, 8, 8, 16, 2, 5}),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace tf::driver
