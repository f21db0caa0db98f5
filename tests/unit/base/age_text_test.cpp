#include "base/cli/age_text.h"

#include <gtest/gtest.h>

namespace tf {
namespace {

TEST(AgeText, HasTheTwoLargestUnits) {
  EXPECT_EQ(age_text(-3), "0s");
  EXPECT_EQ(age_text(45), "45s");
  EXPECT_EQ(age_text(95), "1m35s");
  EXPECT_EQ(age_text(12'000), "3h20m");
  EXPECT_EQ(age_text(187'200), "2d4h");
}

}  // namespace
}  // namespace tf
