#include "compiler/recipes/sizes/tile_cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/schedule/examples.h"

namespace tf::recipes {
namespace {

using test::znver4;

TEST(StreamingEfficiency, FallsWithFewerRowsBeyondL1) {
  EXPECT_EQ(streaming_efficiency(1, 1 << 10, znver4()), 1);
  EXPECT_LT(streaming_efficiency(4, 64 << 10, znver4()), streaming_efficiency(14, 64 << 10, znver4()));
  EXPECT_LT(streaming_efficiency(14, 1 << 20, znver4()), streaming_efficiency(14, 64 << 10, znver4()));
}

TEST(TileCycles, AreInfiniteWhereAccumulatorsDoNotFit) {
  EXPECT_TRUE(std::isinf(tile_cycles(16, 2, 0, znver4())));
  EXPECT_FALSE(fits_registers(16, 2, znver4()));
  EXPECT_TRUE(fits_registers(14, 2, znver4()));
  // Per multiply-add.
  EXPECT_LT(tile_cycles(14, 2, 0, znver4()) / 28, tile_cycles(4, 1, 0, znver4()) / 4);
}

TEST(TiledResults, CostAtEdgesWhatIsThere) {
  TiledResults results{.inner = 13, .vectors = 5};
  const TileSizes sizes{.inner = 6, .vectors = 4};
  const double whole = cycles_of(results, sizes, znver4());
  EXPECT_DOUBLE_EQ(whole, 6 * tile_cycles(6, 4, 0, znver4()));
  results.edges_are_partial = true;
  const double there = 2 * tile_cycles(6, 4, 0, znver4()) + 2 * tile_cycles(6, 1, 0, znver4()) +
                       tile_cycles(1, 4, 0, znver4()) + tile_cycles(1, 1, 0, znver4());
  const double partial = cycles_of(results, sizes, znver4());
  EXPECT_GT(partial, there);
  EXPECT_LT(partial, there + (whole - there) / 4);
}

TEST(CheapestTile, WastesNothingWhereEdgesAreWhole) {
  const TileSizes whole = cheapest_tile({.inner = 26, .vectors = 2}, {}, znver4()).sizes;
  EXPECT_EQ(26 % whole.inner, 0);
  EXPECT_EQ(2 % whole.vectors, 0);
}

TEST(CheapestTile, IsNotSmallerForAnEdgeThatIsPartial) {
  // 17 rows: a prime number, which nothing else divides.
  const TileSizes partial =
      cheapest_tile({.inner = 17, .vectors = 7, .edges_are_partial = true}, {}, znver4()).sizes;
  EXPECT_GE(partial.inner * partial.vectors, 20);
}

TEST(CheapestTile, KeepsToItsLimitsAndMindsTheSlowdown) {
  const TileChoice fixed =
      cheapest_tile({.inner = 64, .vectors = 4}, {.least_inner = 5, .most_inner = 5}, znver4());
  EXPECT_EQ(fixed.sizes.inner, 5);
  const TileChoice slowed =
      cheapest_tile({.inner = 64, .vectors = 4}, {}, znver4(),
                    [](const TileSizes& sizes) { return sizes.vectors == 2 ? 1.0 : 9.0; });
  EXPECT_EQ(slowed.sizes.vectors, 2);
}

}  // namespace
}  // namespace tf::recipes
