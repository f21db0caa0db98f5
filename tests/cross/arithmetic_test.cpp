// Divisions and conversions of an armv7 model, which has no libgcc, give what this processor gives.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/foreign_code/foreign_code.h"

namespace tf {
namespace {

std::vector<std::pair<int64_t, int64_t>> pairs() {
  std::vector<int64_t> values = {0,
                                 1,
                                 -1,
                                 2,
                                 -2,
                                 7,
                                 -10,
                                 INT32_MAX,
                                 INT32_MIN,
                                 UINT32_MAX,
                                 int64_t{1} << 32,
                                 INT64_MAX,
                                 INT64_MIN,
                                 INT64_MIN + 1,
                                 (int64_t{1} << 53) + 1,
                                 (int64_t{1} << 54) + 2,
                                 -(int64_t{1} << 53) - 1};
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) values.push_back(static_cast<int64_t>(random() >> (random() % 64)));
  std::vector<std::pair<int64_t, int64_t>> all;
  for (const int64_t dividend : values)
    for (const int64_t divisor : values) all.emplace_back(dividend, divisor);
  return all;
}

class ModelArithmetic : public ::testing::TestWithParam<std::string> {};

TEST_P(ModelArithmetic, IsThatOfThisProcessor) {
  const target::Target target = *target::parse_target(GetParam());
  const auto missing = support::missing_emulator(target, support::Runner::kArithmetic);
  if (missing.has_value()) GTEST_SKIP() << *missing;
  const auto all = pairs();
  const auto results = support::run_foreign_arithmetic(target, all);
  ASSERT_TRUE(results.ok()) << results.status();
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [dividend, divisor] = all[i];
    ASSERT_EQ((*results)[i], support::arithmetic_of(dividend, divisor)) << dividend << " by " << divisor;
  }
}

INSTANTIATE_TEST_SUITE_P(ArmV7, ModelArithmetic, ::testing::Values("armv7:cpu=cortex-a9"),
                         [](const auto&) { return "cortex_a9"; });

}  // namespace
}  // namespace tf
