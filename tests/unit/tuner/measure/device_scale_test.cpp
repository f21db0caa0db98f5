#include "tuner/measure/device_scale.h"

#include <gtest/gtest.h>

#include <random>

namespace tf::measure {
namespace {

TEST(DeviceScale, ADeviceAloneIsNeverAskedForAReading) {
  DeviceScale scale;
  EXPECT_EQ(scale.due("a", false), std::nullopt);
  scale.add("a", "g", 1000);
  for (int i = 0; i < 1000; ++i) scale.count_trial("a");
  EXPECT_EQ(scale.due("a", false), std::nullopt);
  EXPECT_EQ(scale.factor("a"), 1);
}

TEST(DeviceScale, ANewDeviceIsToldByTwoReadingsThatAgree) {
  DeviceScale scale;
  scale.add("a", "g", 1000);
  EXPECT_EQ(scale.due("b", true), "g");
  EXPECT_FALSE(scale.knows("b"));
  scale.add("b", "g", 1051);
  EXPECT_FALSE(scale.knows("b"));
  EXPECT_EQ(scale.due("b", true), "g") << "to confirm the first one";
  scale.add("b", "g", 1049);
  EXPECT_TRUE(scale.knows("b"));
  EXPECT_EQ(scale.due("b", true), std::nullopt);
  EXPECT_NEAR(scale.factor("b"), 1.05, 1e-5);
  EXPECT_EQ(scale.factor("a"), 1);
}

TEST(DeviceScale, ReadsAgainAfterSomeTrialsAndSoonerAtFirst) {
  DeviceScale scale;
  scale.add("a", "g", 1000);
  scale.add("b", "g", 1000), scale.add("b", "g", 1000);
  const auto trials_until_due = [&] {
    size_t trials = 0;
    for (; !scale.due("b", true); ++trials) scale.count_trial("b");
    return trials;
  };
  EXPECT_EQ(trials_until_due(), DeviceScale::kReadSoon);
  scale.add("b", "g", 1000);
  EXPECT_EQ(trials_until_due(), DeviceScale::kReadEvery);
}

TEST(DeviceScale, SeveralNoisyReadingsTellMoreThanOne) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.015);
  DeviceScale scale;
  for (int i = 0; i < 10; ++i)
    for (const auto& [device, factor] : {std::pair("a", 1.0), std::pair("b", 1.05), std::pair("c", 0.95)})
      scale.add(device, i % 2 == 0 ? "g" : "h", (i % 2 == 0 ? 1000 : 50) * factor * std::exp(noise(random)));
  EXPECT_NEAR(scale.factor("b") / scale.factor("a"), 1.05, 0.012);
  EXPECT_NEAR(scale.factor("c") / scale.factor("a"), 0.95, 0.012);
}

TEST(DeviceScale, FollowsADeviceThatThrottlesAtOnceAndKeepsItsGauges) {
  DeviceScale scale;
  for (int i = 0; i < 8; ++i) scale.add("a", "g", 1000), scale.add("b", "g", 1000);
  scale.add("b", "g", 1300);
  EXPECT_EQ(scale.due("b", true), "g");
  scale.add("b", "g", 1300);
  EXPECT_NEAR(scale.factor("b"), 1.3, 0.01);
  EXPECT_NEAR(scale.factor("a"), 1, 0.01);
  scale.add("a", "g", 1000);
  EXPECT_NEAR(scale.factor("a"), 1, 0.01) << "the gauge is what it was";
}

TEST(DeviceScale, OneDisturbedReadingDoesNotCount) {
  DeviceScale scale;
  for (int i = 0; i < 8; ++i) scale.add("a", "g", 1000), scale.add("b", "g", 1000);
  scale.add("b", "g", 1500);
  EXPECT_NEAR(scale.factor("b"), 1, 0.01);
  EXPECT_EQ(scale.due("b", true), "g") << "to confirm it";
  scale.add("b", "g", 1000);
  EXPECT_NEAR(scale.factor("b"), 1, 0.01);
  EXPECT_EQ(scale.due("b", true), std::nullopt);
  scale.add("b", "g", 1500);
  EXPECT_NEAR(scale.factor("b"), 1, 0.01) << "the last one that was off is forgotten";
}

TEST(DeviceScale, ReadingsThatAreOffButDisagreeDoNotComeBeforeEachTrial) {
  DeviceScale scale;
  for (int i = 0; i < 8; ++i) scale.add("a", "g", 1000), scale.add("b", "g", 1000);
  scale.add("b", "g", 1500), scale.add("b", "g", 2500);
  EXPECT_NEAR(scale.factor("b"), 1, 0.01);
  EXPECT_EQ(scale.due("b", true), std::nullopt);
}

TEST(DeviceScale, AGaugeThatFailsIsNotTimedBeforeEachTrial) {
  DeviceScale scale;
  for (int i = 0; i < 3; ++i) scale.add("a", "g", 1000), scale.add("b", "g", 1000);
  for (size_t i = 0; i < DeviceScale::kReadEvery; ++i) scale.count_trial("b");
  ASSERT_EQ(scale.due("b", true), "g");
  scale.add("b", "g", 0);
  EXPECT_EQ(scale.due("b", true), "g") << "once more";
  for (int i = 0; i < 3; ++i) {
    scale.add("b", "g", 0);
    EXPECT_EQ(scale.due("b", true), std::nullopt);
  }
  scale.add("new", "g", 0), scale.add("new", "g", 0);
  EXPECT_EQ(scale.due("new", true), std::nullopt);
  EXPECT_TRUE(scale.knows("new")) << "else it measured one trial at a time for ever";
  EXPECT_EQ(scale.factor("new"), 1);
}

TEST(DeviceScale, ATimeThatIsNoneTellsNothing) {
  DeviceScale scale;
  scale.add("a", "g", 0);
  EXPECT_FALSE(scale.has_gauges());
}

}  // namespace
}  // namespace tf::measure
