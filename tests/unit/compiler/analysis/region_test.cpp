#include "compiler/analysis/region.h"

#include <random>

#include "compiler/analysis/access.h"
#include "compiler/analysis/simplify.h"
#include "compiler/tensor/text.h"

namespace tf::analysis {
namespace {

using ir::Var;
using tensor::floor_div;
using tensor::floor_mod;
using tensor::imm;
using tensor::to_string;
using tensor::var;
using testing::Eq;

class Touched : public testing::Test {
 protected:
  std::string span(const Expr& index, const Expr& extent = imm(1000)) {
    const std::optional<Region> region =
        touched(std::vector<Expr>{index}, std::vector<Expr>{extent}, inner_, outer_);
    return region ? to_string((*region)[0].min) + " +" +
                        std::to_string(static_cast<int64_t>((*region)[0].extent))
                  : "unknown";
  }
  Var o = var("o"), i = var("i"), k = var("k");
  RangeMap inner_ = {{i.get(), {0, 3}}, {k.get(), {0, 2}}};
  RangeMap outer_ = {{o.get(), {0, 9}}};
};

TEST_F(Touched, SeparatesOuterFromInnerVariables) {
  EXPECT_THAT(span(o * 4 + i), Eq("o * 4 +4"));
  EXPECT_THAT(span((o * 4 + i) * 2 + k - 1), Eq("o * 8 - 1 +9"));
  EXPECT_THAT(span(o * 4 - i), Eq("o * 4 - 3 +4"));
  EXPECT_THAT(span(o), Eq("o +1"));
}

TEST_F(Touched, CountsBlocksExactlyWhereTheStartIsAligned) {
  EXPECT_THAT(span(floor_div(o * 4 + i, 2)), Eq("o * 2 +2"));
  EXPECT_THAT(span(floor_div(o + i, 2)), Eq("o // 2 +3"));
}

TEST_F(Touched, FallsBackToTheInterval) {
  EXPECT_THAT(span(floor_mod(o + i, 8)), Eq("0 +8"));
  EXPECT_THAT(span(i * i), Eq("0 +10"));
}

TEST_F(Touched, FallsBackToTheWholeDimension) {
  const Var free = var("free");
  EXPECT_THAT(span(free * i), Eq("0 +1000"));
  EXPECT_THAT(span(free * i, free), Eq("unknown"));
}

TEST_F(Touched, UnitesShiftedSpans) {
  const std::vector<Expr> extents = {imm(1000)};
  const std::optional<Region> both = unite({{o * 4, 4}}, {{o * 4 + 2, 4}}, extents, outer_);
  ASSERT_TRUE(both);
  EXPECT_THAT(to_string((*both)[0].min), Eq("o * 4"));
  EXPECT_THAT((*both)[0].extent, Eq(6));
}

TEST(TouchedRandom, ContainsEveryIndex) {
  std::mt19937_64 random(7);
  auto pick = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const Var a = var("a"), b = var("b"), p = var("p"), q = var("q");
  for (int trial = 0; trial < 3000; ++trial) {
    const int64_t extents[] = {1 + pick(5), 1 + pick(5), 1 + pick(6), 1 + pick(6)};
    const Var vars[] = {a, b, p, q};
    RangeMap inner, outer;
    for (int v = 0; v < 4; ++v) (v < 2 ? outer : inner)[vars[v].get()] = Interval::from_extent(0, extents[v]);
    std::function<Expr(int)> make = [&](int depth) -> Expr {
      if (depth == 0) return pick(5) == 0 ? imm(pick(9) - 4) : Expr(vars[pick(4)]);
      const Expr x = make(depth - 1);
      switch (pick(6)) {
        case 0:
          return floor_div(x, 1 + pick(7));
        case 1:
          return floor_mod(x, 1 + pick(7));
        case 2:
          return pick(2) == 0 ? tensor::min(x, make(depth - 1)) : tensor::max(x, make(depth - 1));
        case 3:
          return x - make(depth - 1);
        default:
          return x * (1 + pick(6)) + make(depth - 1);
      }
    };
    const Expr index = make(3);
    const std::optional<Region> region =
        touched(std::vector<Expr>{index}, std::vector<Expr>{imm(100000)}, inner, outer);
    ASSERT_TRUE(region) << to_string(index);
    const Span& span = (*region)[0];
    for (int point = 0; point < 20; ++point) {
      tensor::Substitution values;
      for (int v = 0; v < 4; ++v) values[vars[v].get()] = imm(pick(extents[v]));
      const auto at = as_int(simplify(tensor::substitute(index, values)));
      const auto low = as_int(simplify(tensor::substitute(span.min, values)));
      ASSERT_TRUE(at && low) << to_string(index) << " in " << to_string(span.min);
      ASSERT_TRUE(!uses(span.min, p.get()) && !uses(span.min, q.get())) << to_string(span.min);
      ASSERT_TRUE(*low <= *at && *at < *low + span.extent)
          << to_string(index) << " in " << to_string(span.min) << " +" << span.extent;
    }
  }
}

TEST(Access, GivesStridesWhereTheyAreTheSameEverywhere) {
  const Var c = var("c"), h = var("h");
  EXPECT_THAT(stride(c * 16 + h - 1, c.get(), {}), Eq(16));
  EXPECT_THAT(stride(c * 16 + h - 1, h.get(), {}), Eq(1));
  EXPECT_THAT(stride(c * 16, h.get(), {}), Eq(0));
  EXPECT_THAT(stride(floor_div(c, 3), c.get(), {}), Eq(std::nullopt));
}

}  // namespace
}  // namespace tf::analysis
