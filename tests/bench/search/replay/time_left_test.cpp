#include "tests/bench/search/replay/time_left.h"

#include <gtest/gtest.h>

namespace tf::replay {
namespace {

TEST(TimeLeft, IsInWholeMinutesAtMost) {
  EXPECT_EQ(time_left(0), "less than a minute left");
  EXPECT_EQ(time_left(0.99), "less than a minute left");
  EXPECT_EQ(time_left(1), "at most 1 minute left");
  EXPECT_EQ(time_left(1.2), "at most 2 minutes left");
}

}  // namespace
}  // namespace tf::replay
