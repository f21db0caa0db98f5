#include "compiler/runtime/executor/formula.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "tests/unit/compiler/runtime/sized_models.h"

namespace tf::runtime {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

std::optional<int64_t> value_of(const Code& code, const std::vector<int64_t>& dims = {}) {
  EXPECT_TRUE(tf_code_valid(code.data(), code.size(), dims.size()));
  int64_t value = 0;
  if (!tf_code_value(code.data(), code.size(), dims.data(), &value)) return std::nullopt;
  return value;
}

TEST(Formula, ComputesWithNumbersAndDimensions) {
  EXPECT_EQ(value_of(number(-7)), -7);
  EXPECT_EQ(value_of(dim(1), {3, 5}), 5);
  EXPECT_EQ(value_of(aligned(number(4) * dim(0) * dim(1)), {3, 7}), 128);
  struct Case {
    int64_t operation, left, right, result;
  };
  for (const Case& each : std::vector<Case>{{TF_CODE_ADD, 7, -9, -2},
                                            {TF_CODE_SUB, 7, 9, -2},
                                            {TF_CODE_MUL, -7, 9, -63},
                                            {TF_CODE_FLOOR_DIV, 7, 2, 3},
                                            {TF_CODE_FLOOR_DIV, -7, 2, -4},
                                            {TF_CODE_FLOOR_DIV, 7, -2, -4},
                                            {TF_CODE_FLOOR_DIV, -7, -2, 3},
                                            {TF_CODE_FLOOR_DIV, -8, 2, -4},
                                            {TF_CODE_FLOOR_DIV, 7, 0, 0},
                                            {TF_CODE_FLOOR_DIV, 7, -1, -7},
                                            {TF_CODE_FLOOR_MOD, 7, 2, 1},
                                            {TF_CODE_FLOOR_MOD, -7, 2, 1},
                                            {TF_CODE_FLOOR_MOD, 7, -2, -1},
                                            {TF_CODE_FLOOR_MOD, -7, -2, -1},
                                            {TF_CODE_FLOOR_MOD, 8, -2, 0},
                                            {TF_CODE_FLOOR_MOD, 7, 0, 0},
                                            {TF_CODE_FLOOR_MOD, kLeast, -1, 0},
                                            {TF_CODE_MIN, 7, -9, -9},
                                            {TF_CODE_MIN, -9, 7, -9},
                                            {TF_CODE_MAX, 7, -9, 7},
                                            {TF_CODE_MAX, -9, 7, 7}}) {
    EXPECT_EQ(value_of(apply(each.operation, number(each.left), number(each.right))), each.result)
        << each.operation << " of " << each.left << " and " << each.right;
  }
}

TEST(Formula, HasNoValueWhereANumberDoesNotFit) {
  EXPECT_EQ(value_of(apply(TF_CODE_ADD, number(kMost), number(1))), std::nullopt);
  EXPECT_EQ(value_of(apply(TF_CODE_SUB, number(kLeast), number(1))), std::nullopt);
  EXPECT_EQ(value_of(apply(TF_CODE_MUL, number(kMost), number(-2))), std::nullopt);
  EXPECT_EQ(value_of(apply(TF_CODE_FLOOR_DIV, number(kLeast), number(-1))), std::nullopt);
  EXPECT_EQ(value_of(apply(TF_CODE_MUL, number(int64_t{1} << 32), number(int64_t{1} << 31))), std::nullopt);
  EXPECT_EQ(value_of(apply(TF_CODE_MUL, number(int64_t{1} << 32), number(-(int64_t{1} << 31)))), kLeast);
}

TEST(Formula, IsInvalidUnlessItLeavesOneValue) {
  const std::vector<Code> invalid = {
      {},
      {TF_CODE_NUMBER},
      {TF_CODE_DIM},
      {TF_CODE_DIM, 2},
      {TF_CODE_DIM, -1},
      {TF_CODE_ADD},
      {TF_CODE_NUMBER, 1, TF_CODE_ADD},
      {TF_CODE_NUMBER, 1, TF_CODE_NUMBER, 2},
      {TF_CODE_NUMBER, 1, TF_CODE_NUMBER, 2, TF_CODE_MAX + 1},
      {TF_CODE_NUMBER, 1, TF_CODE_NUMBER, 2, -1},
      {TF_CODE_NUMBER, 1, TF_CODE_NUMBER, 2, TF_CODE_ADD, TF_CODE_ADD, TF_CODE_NUMBER, 3},
  };
  for (size_t i = 0; i < invalid.size(); ++i)
    EXPECT_FALSE(tf_code_valid(invalid[i].data(), invalid[i].size(), 2)) << i;
}

TEST(Formula, UsesNoMoreThanItsStack) {
  Code deepest, deeper;
  for (int64_t i = 1; i <= TF_FORMULA_DEPTH; ++i) deepest.insert(deepest.end(), {TF_CODE_NUMBER, i});
  deeper = deepest;
  deeper.insert(deeper.end(), {TF_CODE_NUMBER, 0});
  deepest.insert(deepest.end(), TF_FORMULA_DEPTH - 1, TF_CODE_ADD);
  deeper.insert(deeper.end(), TF_FORMULA_DEPTH, TF_CODE_ADD);
  EXPECT_EQ(value_of(deepest), 136);
  EXPECT_FALSE(tf_code_valid(deeper.data(), deeper.size(), 0));
}

}  // namespace
}  // namespace tf::runtime
