#include "compiler/cli/profile_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tf::compiler_cli {
namespace {

using testing::HasSubstr;
using testing::Not;

Profile profile_with(std::vector<KernelRow> kernels) {
  Profile profile{.peak_gflops = 100, .memory_gb_per_s = 10};
  double total_ns = 0;
  for (const KernelRow& kernel : kernels) total_ns += kernel.median_ns;
  for (KernelRow& kernel : kernels) kernel.share = kernel.median_ns / total_ns;
  profile.total_ms = total_ns / 1e6;
  profile.kernels = std::move(kernels);
  return profile;
}

const KernelRow kConv = {
    .name = "conv2d+relu 1x64x56x56", .median_ns = 3000, .flops = 200'000, .bytes = 20'000};
const KernelRow kSoftmax = {.name = "softmax 1x1000", .median_ns = 1000, .flops = 5000, .bytes = 8000};
const KernelRow kMove = {.name = "transpose 1x64", .median_ns = 1000, .bytes = 8000};

// Where each circle of the roofline is: across and down.
std::vector<std::pair<double, double>> circles(const std::string& svg) {
  static const std::regex kCircle("<circle[^>]*cx=\"([-0-9.]+)\" cy=\"([-0-9.]+)\"");
  std::vector<std::pair<double, double>> out;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kCircle), end; at != end; ++at)
    out.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
  return out;
}

TEST(ProfileSvg, ListsKernelsByTheirTime) {
  const std::string svg = profile_svg(profile_with({kSoftmax, kConv}), "build/net", 4);
  EXPECT_THAT(svg, HasSubstr("build/net on 4 threads: kernels take 4.0 us together"));
  EXPECT_LT(svg.find("1. conv2d+relu 1x64x56x56: 3.0 us, 75.0% of the time, 66.7 GFLOP/s, 10.00 FLOP/byte"),
            svg.find("2. softmax 1x1000"));
}

TEST(ProfileSvg, ShowsKernelsUnderTheMeasuredPeaks) {
  const std::string svg = profile_svg(profile_with({kConv, kSoftmax}), "net", 1);
  EXPECT_THAT(svg, HasSubstr("FMA peak: 100 GFLOP/s"));
  EXPECT_THAT(svg, HasSubstr("memory: 10.0 GB/s"));
  const auto at = circles(svg);
  ASSERT_EQ(at.size(), 2u);
  const auto [softmax, conv] = std::pair(at[0], at[1]);  // the slowest is drawn last
  EXPECT_GT(conv.first, softmax.first) << "more arithmetic a byte is further right";
  EXPECT_LT(conv.second, softmax.second) << "faster is higher";
}

TEST(ProfileSvg, WithoutAMemoryRateThereIsNoSlope) {
  Profile profile = profile_with({kConv});
  profile.memory_gb_per_s = 0;
  const std::string svg = profile_svg(profile, "net", 1);
  EXPECT_THAT(svg, Not(HasSubstr("memory:")));
  EXPECT_THAT(svg, HasSubstr("FMA peak: 100 GFLOP/s"));
}

TEST(ProfileSvg, KernelsWithoutArithmeticAreListedOnly) {
  const std::string svg = profile_svg(profile_with({kConv, kMove}), "net", 1);
  EXPECT_THAT(svg, HasSubstr("transpose 1x64"));
  EXPECT_THAT(svg, HasSubstr("1 kernel without arithmetic: not in the roofline"));
  EXPECT_EQ(circles(svg).size(), 1u);
}

TEST(ProfileSvg, ManyKernelsEndInALineForTheRest) {
  const std::string svg = profile_svg(profile_with(std::vector<KernelRow>(50, kConv)), "net", 1);
  EXPECT_THAT(svg, HasSubstr("10 more kernels: 20.0% of the time"));
  EXPECT_EQ(circles(svg).size(), 50u);
}

TEST(ProfileSvg, RefersToNothingOutsideAndObeysNoName) {
  KernelRow evil = kConv;
  evil.name = "<script>alert(1)</script>\"&\x1b[31m";
  const std::string svg = profile_svg(profile_with({evil}), "<b>", 1);
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;alert(1)"));
  for (const char* reference : {"href", "url(", "@import", "src="})
    EXPECT_THAT(svg, Not(HasSubstr(reference)));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
}

TEST(ProfileSvg, NoNumberIsLostWhereARateIsOddOrThereIsNoKernel) {
  KernelRow slow = kConv, above = kConv;
  slow.flops = 1;
  slow.bytes = 1e9;
  above.flops = 1e9;  // above the peak
  for (const Profile& profile : {profile_with({slow, above}), profile_with({}), profile_with({kMove})}) {
    const std::string svg = profile_svg(profile, "net", 1);
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    for (const auto& [x, y] : circles(svg)) {
      EXPECT_GE(x, 0);
      EXPECT_GE(y, 0);
    }
  }
}

}  // namespace
}  // namespace tf::compiler_cli
