#include "tests/bench/peers/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tf::peers {
namespace {

using testing::HasSubstr;

// 0, 1, … n - 1: the values are their ranks.
Median median_of_ranks(int n) {
  std::vector<double> ranks(static_cast<size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0.0);
  return median_of(ranks);
}

TEST(MedianOf, HasTheBoundsOfTables) {
  // Conover, table A3: the 95% bounds are x(k) and x(n+1-k), from 1.
  for (const auto& [n, k] : {std::pair(6, 1), {9, 2}, {15, 4}, {25, 8}, {50, 18}, {100, 40}}) {
    const Median median = median_of_ranks(n);
    EXPECT_EQ(median.value, (n - 1) / 2.0);
    EXPECT_EQ(median.low, k - 1) << n;
    EXPECT_EQ(median.high, n - k) << n;
  }
  EXPECT_EQ(median_of_ranks(1).low, 0);
  EXPECT_EQ(median_of_ranks(5).high, 4);
}

TEST(MedianOf, ManyValuesHaveBoundsToo) {
  for (const int n : {1074, 1075, 10'000}) {
    const Median median = median_of_ranks(n);
    // k is near n/2 - 1.96 sqrt(n)/2.
    EXPECT_NEAR(median.low, n / 2.0 - 0.98 * std::sqrt(n), 2) << n;
    EXPECT_EQ(median.high, n - 1 - median.low);
  }
}

// A 1 x 1 product of -1 to 1 by a contender whose answer is off by `error` times Σ|a||b|.
class CheckAnswers : public testing::Test {
 protected:
  Contender contender(const std::string& name, double error, double tolerance) const {
    const bench::Expected expected = bench::expected_element(kernel_, operands_, 0);
    return {.name = name,
            .tolerance = tolerance,
            .run = [] {},
            .read_out =
                [=](std::span<float> out) {
                  out[0] = static_cast<float>(expected.value + error * expected.magnitude);
                }};
  }
  absl::Status check(const std::vector<Contender>& contenders) const {
    const auto at = [this](int64_t index) { return bench::expected_element(kernel_, operands_, index); };
    return check_answers(kernel_.name, {.elements = operands_.output_elements, .at = at}, contenders);
  }

  const bench::Kernel kernel_{.name = "dot", .shape = bench::Gemm{.m = 1, .n = 1, .k = 64}};
  const bench::Operands operands_ = bench::make_operands(kernel_);
};

TEST_F(CheckAnswers, HoldsEachContenderToItsOwnTolerance) {
  const Contender exact = contender("exact", 0, 1e-5), loose = contender("loose", 3e-4, 64e-5),
                  wrong = contender("wrong", 3e-4, 1e-5);
  EXPECT_TRUE(check({exact, loose}).ok());
  EXPECT_THAT(std::string(check({exact, loose, wrong}).message()), HasSubstr("dot: wrong"));
  EXPECT_THAT(std::string(check({wrong, loose}).message()), HasSubstr("dot: wrong"));
}

}  // namespace
}  // namespace tf::peers
