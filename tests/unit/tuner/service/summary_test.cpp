#include "tuner/service/summary.h"

#include <gtest/gtest.h>

namespace tf::service {
namespace {

TEST(Summary, CountsTrialsAndSaysHowItEnded) {
  session::Progress progress{.trials = 1};
  EXPECT_EQ(summary(progress), "1 trial, 0 failed");
  progress.trials = 412;
  progress.failures = 3;
  progress.nothing_new = true;
  EXPECT_EQ(summary(progress), "412 trials, 3 failed; search exhausted");
  progress.nothing_new = false;
  progress.undecided = true;
  EXPECT_EQ(summary(progress), "412 trials, 3 failed; not all finalists were re-measured");
}

TEST(Summary, SaysForHowLongADeviceWasThereWhereThatWasNotAllTheTime) {
  session::Progress progress{.trials = 13, .elapsed_s = 114, .without_device_s = 102};
  EXPECT_EQ(summary(progress), "13 trials, 0 failed; a device was available for 12s of 1m54s");
  progress.without_device_s = 1;
  EXPECT_EQ(summary(progress), "13 trials, 0 failed");
}

}  // namespace
}  // namespace tf::service
