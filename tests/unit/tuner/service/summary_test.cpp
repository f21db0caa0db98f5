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
  EXPECT_EQ(summary(progress), "412 trials, 3 failed; nothing new to try");
  progress.nothing_new = false;
  progress.undecided = true;
  EXPECT_EQ(summary(progress), "412 trials, 3 failed; not all play-offs were held");
}

}  // namespace
}  // namespace tf::service
