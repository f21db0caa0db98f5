#include "base/cli/counted.h"

#include <gtest/gtest.h>

namespace {

TEST(Counted, OneIsOne) {
  EXPECT_EQ(tf::counted(1, "thread"), "1 thread");
  EXPECT_EQ(tf::counted(0, "thread"), "0 threads");
  EXPECT_EQ(tf::counted(2, "slot"), "2 slots");
}

}  // namespace
