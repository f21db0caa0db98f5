// Intervals of float expressions: examples, and that they contain what random expressions give.
#include "compiler/analysis/float_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "compiler/ir/interpret.h"
#include "compiler/tensor/text.h"
#include "tests/support/ir/host_memory.h"

namespace tf::analysis {
namespace {

using ir::Element;
using ir::Expr;
using ir::Intrinsic;
using tensor::call;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Expr number(double value) {
  return tensor::imm({Element::kFloat32, 1}, value);
}

class FloatBounds : public ::testing::Test {
 protected:
  FloatInterval of(const Expr& e, const FloatRangeMap& ranges = {}) { return float_interval_of(e, ranges); }

  const ir::Buffer a = tensor::buffer("a", Element::kFloat32, {tensor::imm(4)});
  const Expr x = tensor::load(a, {tensor::imm(0)});
};

TEST_F(FloatBounds, ClampsAndSizesAreBounded) {
  EXPECT_EQ(of(x), FloatInterval());
  EXPECT_EQ(of(tensor::min(tensor::max(x, number(-3)), number(5))), (FloatInterval{-3, 5}));
  EXPECT_EQ(of(tensor::max(-tensor::abs(x), number(-104))), (FloatInterval{-104, 0}));
  EXPECT_EQ(of(tensor::abs(x)), (FloatInterval{0, kInfinity}));
}

TEST_F(FloatBounds, VariablesHaveTheRangesThatAreGiven) {
  const ir::Var v = tensor::var("v", {Element::kFloat32, 1});
  EXPECT_EQ(of(v), FloatInterval());
  EXPECT_EQ(of(v, {{v.get(), {1, 2}}}), (FloatInterval{1, 2}));
  EXPECT_EQ(of(tensor::abs(v), {{v.get(), {-7, -2}}}), (FloatInterval{2, 7}));
}

TEST_F(FloatBounds, InfinityTimesZeroHasNoBound) {
  EXPECT_EQ(of(tensor::abs(x) * number(0)), FloatInterval());
  EXPECT_EQ(of(x - x), FloatInterval());
}

TEST_F(FloatBounds, HalvesHaveNoBound) {
  EXPECT_EQ(of(tensor::imm({Element::kFloat16, 1}, 1.0)), FloatInterval());
}

// An expression of `depth` levels over four numbers.
class RandomExpression {
 public:
  RandomExpression(uint32_t seed, ir::Buffer data) : random_(seed), data_(std::move(data)) {}

  Expr make(int depth) {
    if (depth == 0) return leaf();
    const Expr a = make(depth - 1), b = make(depth - 1);
    switch (below(10)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * b;
      case 3:
        return tensor::min(a, b);
      case 4:
        return tensor::max(a, b);
      case 5:
        return -a;
      case 6:
        return tensor::abs(a);
      case 7:
        return call(Intrinsic::kRound, {a});
      case 8:
        return call(Intrinsic::kFma, {a, b, leaf()});
      default:
        return tensor::select(a < b, a, b);
    }
  }

 private:
  int below(int limit) { return std::uniform_int_distribution(0, limit - 1)(random_); }
  Expr leaf() {
    if (below(3) == 0)
      return number(std::vector<double>{0, 0.5, -3, 12582912, 1e-39}[static_cast<size_t>(below(5))]);
    const Expr x = tensor::load(data_, {tensor::imm(below(4))});
    return tensor::min(tensor::max(x, number(-below(9))), number(below(9)));
  }

  std::mt19937 random_;
  const ir::Buffer data_;
};

TEST(FloatBoundsOfRandomExpressions, ContainTheValues) {
  int bounded = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const ir::Buffer data = tensor::buffer("data", Element::kFloat32, {tensor::imm(4)});
    const ir::Buffer out = tensor::buffer("out", Element::kFloat32, {tensor::imm(1)});
    const Expr e = RandomExpression(seed, data).make(3);
    const FloatInterval bounds = float_interval_of(e, {});
    bounded += std::isfinite(bounds.min) && std::isfinite(bounds.max) ? 1 : 0;
    ir::Function f;
    f.name = "f";
    f.params = {data, out};
    f.body = ir::store(out, {tensor::imm(0)}, e);
    std::mt19937 random(seed);
    for (int k = 0; k < 10; ++k) {
      std::vector<double> values(4);
      for (double& value : values)
        value = static_cast<float>(std::uniform_real_distribution(-12.0, 12.0)(random));
      const auto got = test::interpret_values(f, {values, {0.0}});
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_LE(bounds.min, (*got)[1][0]) << tensor::to_string(e);
      EXPECT_GE(bounds.max, (*got)[1][0]) << tensor::to_string(e);
    }
  }
  EXPECT_GT(bounded, 200);
}

}  // namespace
}  // namespace tf::analysis
