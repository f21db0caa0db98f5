#include "tuner/measure/silence.h"

#include <gtest/gtest.h>

namespace tf::measure {
namespace {

constexpr SilenceLimits kLimits = {.slack = absl::Seconds(30), .reference = absl::Seconds(120)};
constexpr absl::Duration kRunLimit = absl::Seconds(10);
const rpc::Instant kStart = absl::Seconds(1000);

class SilenceTest : public testing::Test {
 protected:
  SilenceTest() { silence_.broken(kStart); }
  Remedy after(int seconds) { return silence_.remedy(kStart + absl::Seconds(seconds), kRunLimit); }

  Silence silence_{kLimits};
};

TEST_F(SilenceTest, MayLastAsLongAsATrialThatRunsTwice) {
  EXPECT_EQ(after(49), Remedy::kNone);
  EXPECT_EQ(after(50), Remedy::kTellAgain);
  EXPECT_EQ(after(51), Remedy::kNone) << "once";
}

TEST_F(SilenceTest, EndsWithEachAnswer) {
  silence_.broken(kStart + absl::Seconds(40));
  EXPECT_EQ(after(89), Remedy::kNone);
  EXPECT_EQ(after(90), Remedy::kTellAgain);
}

TEST_F(SilenceTest, IsTheDevicesFaultIfTellingAgainBringsNothingAndNoReferenceTakesSoLong) {
  EXPECT_EQ(after(50), Remedy::kTellAgain);
  silence_.begins_anew(kStart + absl::Seconds(60));
  EXPECT_EQ(after(60 + 50 + 119), Remedy::kNone);
  EXPECT_EQ(after(60 + 50 + 120), Remedy::kGiveBack);
}

TEST_F(SilenceTest, IsForgottenOnceAnAnswerComes) {
  EXPECT_EQ(after(50), Remedy::kTellAgain);
  silence_.broken(kStart + absl::Seconds(60));
  EXPECT_EQ(after(110), Remedy::kTellAgain);
}

}  // namespace
}  // namespace tf::measure
