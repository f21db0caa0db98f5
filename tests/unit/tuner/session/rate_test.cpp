#include "tuner/session/loop/rate.h"

#include <gtest/gtest.h>

namespace tf::session {
namespace {

using Seconds = std::chrono::seconds;

constexpr Clock::time_point kStart = Clock::time_point(Seconds(1000));

TEST(Rate, OfTheLastHalfMinuteForgetsWhatWasBefore) {
  Rate rate(kStart);
  for (int i = 1; i <= 20; ++i) rate.count(kStart + Seconds(i));
  EXPECT_DOUBLE_EQ(rate.per_second(kStart + Seconds(20)), 1);
  EXPECT_DOUBLE_EQ(rate.per_second(kStart + Seconds(40)), 11.0 / 30);
  EXPECT_DOUBLE_EQ(rate.per_second(kStart + Seconds(100)), 0);
}

TEST(Rate, IsActiveForAsLongAsSomethingHappens) {
  Rate rate(kStart);
  EXPECT_EQ(rate.active_s(), 0);
  for (int i = 1; i <= 20; ++i) rate.count(kStart + Seconds(i));
  EXPECT_DOUBLE_EQ(rate.active_s(), 20);
  // An hour without its device.
  for (int i = 1; i <= 20; ++i) rate.count(kStart + Seconds(3600 + i));
  EXPECT_DOUBLE_EQ(rate.active_s(), 20 + 30 + 19);
}

}  // namespace
}  // namespace tf::session
