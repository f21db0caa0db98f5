#include "tuner/cli/cpu_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tf::tuner_cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CpuSplit, SetsMeasuringApartWhereMostCpusAreLeftToBuild) {
  const CpuSplit split = split_cpus({0, 1, 2, 3}, 1);
  EXPECT_THAT(split.measure, ElementsAre(3));
  EXPECT_THAT(split.rest, ElementsAre(0, 1, 2));
  EXPECT_EQ(split.build, split.rest);
  EXPECT_FALSE(split.takes_turns);
}

TEST(CpuSplit, TakesTurnsWhereHalfOfTheCpusMeasure) {
  const CpuSplit split = split_cpus({0, 1}, 1);
  EXPECT_THAT(split.measure, ElementsAre(1));
  EXPECT_THAT(split.rest, ElementsAre(0));
  EXPECT_THAT(split.build, ElementsAre(0, 1));
  EXPECT_TRUE(split.takes_turns);
}

TEST(CpuSplit, TakesTurnsWhereAllCpusMeasure) {
  const CpuSplit split = split_cpus({4, 5}, 2);
  EXPECT_THAT(split.measure, IsEmpty());
  EXPECT_THAT(split.build, ElementsAre(4, 5));
  EXPECT_TRUE(split.takes_turns);
}

}  // namespace
}  // namespace tf::tuner_cli
