#include "compiler/recipes/sizes/parameters.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace tf::recipes {
namespace {

int64_t product(const std::vector<int64_t>& parts) {
  return std::accumulate(parts.begin(), parts.end(), int64_t{1}, std::multiplies<>());
}

TEST(TileParameter, OffersEveryFactorizationOfAnExtentWithManyDivisors) {
  const Parameter parameter = tile_parameter("t", 64, {.parts = 2, .max_innermost = 64});
  const std::set<std::vector<int64_t>> choices(parameter.choices.begin(), parameter.choices.end());
  EXPECT_EQ(choices.size(), parameter.choices.size()) << "no choice twice";
  // 64 = 2^6: the divisors' exponents split over two parts: 1 + 2 + … + 7.
  EXPECT_EQ(choices.size(), 28u);
  for (const auto& choice : choices) EXPECT_EQ(64 % product(choice), 0);
}

TEST(TileParameter, KeepsTheInnermostPartWithinItsBound) {
  for (const auto& choice : tile_parameter("t", 96, {.parts = 2, .max_innermost = 8}).choices)
    EXPECT_LE(choice[1], 8);
}

TEST(TileParameter, GivesAPrimeExtentTilesThatNearlyDivide) {
  const Parameter parameter = tile_parameter("t", 13, {.parts = 1, .max_innermost = 13});
  std::set<int64_t> tiles;
  for (const auto& choice : parameter.choices) tiles.insert(choice[0]);
  EXPECT_TRUE(tiles.contains(1));
  EXPECT_TRUE(tiles.contains(13));
  EXPECT_TRUE(tiles.contains(7)) << "7 covers 13 in two tiles with one element wasted";
  EXPECT_FALSE(tiles.contains(8)) << "8 would waste 3 of 16";
}

TEST(TileParameter, OfExtentOneHasOneChoice) {
  EXPECT_EQ(tile_parameter("t", 1, {.parts = 2}).choices, (std::vector<std::vector<int64_t>>{{1, 1}}));
}

}  // namespace
}  // namespace tf::recipes
