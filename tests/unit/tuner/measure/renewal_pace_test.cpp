#include "tuner/measure/renewal_pace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tf::measure {
namespace {

TEST(RenewalPace, RenewsAtAThirdOfTheTerm) {
  RenewalPace pace(absl::Seconds(60), 1);
  EXPECT_EQ(pace.after_answer(), absl::Seconds(20));
  EXPECT_EQ(pace.after_answer(), absl::Seconds(20));
}

TEST(RenewalPace, TriesAgainSoonAndSlowerTheLongerNobodyAnswers) {
  RenewalPace pace(absl::Seconds(60), 1);
  EXPECT_LE(pace.after_silence(), absl::Seconds(1));
  absl::Duration longest;
  for (int i = 0; i < 200; ++i) {
    const absl::Duration delay = pace.after_silence();
    EXPECT_GE(delay, absl::Milliseconds(500));
    EXPECT_LE(delay, absl::Seconds(5));
    longest = std::max(longest, delay);
  }
  EXPECT_GT(longest, absl::Seconds(4));
  pace.after_answer();
  EXPECT_LE(pace.after_silence(), absl::Seconds(1));
}

TEST(RenewalPace, DiffersBetweenTuners) {
  RenewalPace a(absl::Seconds(60), 1), b(absl::Seconds(60), 2);
  EXPECT_NE(a.after_silence(), b.after_silence());
}

TEST(RenewalPace, NeverWaitsLongerThanAThirdOfTheTerm) {
  for (const absl::Duration term : {absl::Milliseconds(30), absl::Seconds(2), absl::Seconds(9)}) {
    RenewalPace pace(term, 1);
    for (int i = 0; i < 50; ++i) EXPECT_LE(pace.after_silence(), term / 3);
  }
}

}  // namespace
}  // namespace tf::measure
