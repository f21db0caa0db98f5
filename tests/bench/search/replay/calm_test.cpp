#include "tests/bench/search/replay/calm.h"

#include <gtest/gtest.h>

namespace tf::replay {
namespace {

TEST(Calm, IsAMachineOnWhichNothingTakesLonger) {
  Calm calm;
  for (const double seconds : {1.0, 1.03, 0.98, 1.04}) EXPECT_TRUE(calm.hear(seconds)) << seconds;
  EXPECT_FALSE(calm.hear(1.2));
  EXPECT_TRUE(calm.hear(1.02));
}

TEST(Calm, IsKnownOnceALoudHourIsOver) {
  Calm calm;
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(calm.hear(1.5)) << "nothing better is known";
  for (int i = 0; i < 6; ++i) calm.hear(1.0);
  EXPECT_TRUE(calm.hear(1.0));
  EXPECT_FALSE(calm.hear(1.5));
}

TEST(Calm, IsNotSpoiledByOneTimeThatIsFarTooShort) {
  Calm calm;
  for (int i = 0; i < 8; ++i) calm.hear(1.0);
  EXPECT_TRUE(calm.hear(0.5));
  EXPECT_TRUE(calm.hear(1.0));
}

}  // namespace
}  // namespace tf::replay
