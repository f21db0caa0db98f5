#include "tuner/service/jobs/summary.h"

#include <gtest/gtest.h>

namespace tf::service {
namespace {

TEST(Summary, CountsTrialsAndSaysHowItEnded) {
  session::Progress progress;
  progress.set_trials(1);
  EXPECT_EQ(summary(progress), "1 trial, 0 failed");
  progress.set_trials(412);
  progress.set_failures(3);
  progress.set_nothing_new(true);
  EXPECT_EQ(summary(progress), "412 trials, 3 failed; search exhausted");
  progress.set_nothing_new(false);
  progress.set_undecided(true);
  EXPECT_EQ(summary(progress), "412 trials, 3 failed; not all finalists were re-measured");
}

TEST(Summary, SaysForHowLongADeviceWasThereWhereThatWasNotAllTheTime) {
  session::Progress progress;
  progress.set_trials(13);
  progress.set_elapsed_s(114);
  progress.set_without_device_s(102);
  EXPECT_EQ(summary(progress), "13 trials, 0 failed; a device was available for 12s of 1m54s");
  progress.set_without_device_s(1);
  EXPECT_EQ(summary(progress), "13 trials, 0 failed");
}

}  // namespace
}  // namespace tf::service
