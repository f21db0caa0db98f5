#include "base/whole_division.h"

#include <gtest/gtest.h>

namespace tf {
namespace {

TEST(WholeDivision, RoundsUp) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(8, 4), 2);
  EXPECT_EQ(ceil_div(9, 4), 3);
  EXPECT_EQ(round_up(9, 4), 12);
  EXPECT_EQ(round_up(8, 4), 8);
}

TEST(WholeDivision, RoundsDownWhateverTheSigns) {
  for (int64_t value = -9; value <= 9; ++value) {
    for (int64_t divisor : {-4, -1, 1, 3, 4}) {
      const int64_t quotient = floor_quotient(value, divisor), rest = floor_remainder(value, divisor);
      EXPECT_EQ(quotient * divisor + rest, value);
      EXPECT_TRUE(divisor > 0 ? rest >= 0 && rest < divisor : rest <= 0 && rest > divisor)
          << value << " by " << divisor;
    }
  }
}

}  // namespace
}  // namespace tf
