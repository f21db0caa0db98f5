#include "base/cli/duration_text.h"

#include <gtest/gtest.h>

namespace tf {
namespace {

TEST(DurationText, TakesTheUnitInWhichTheNumberIsBelowAThousand) {
  EXPECT_EQ(duration_text(890), "890 ns");
  EXPECT_EQ(duration_text(56'700), "56.7 us");
  EXPECT_EQ(duration_text(1.234e6), "1.234 ms");
  EXPECT_EQ(duration_text(2.5e9), "2.500 s");
}

}  // namespace
}  // namespace tf
