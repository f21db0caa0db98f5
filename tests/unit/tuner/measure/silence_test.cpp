#include "tuner/measure/silence.h"

#include <gtest/gtest.h>

namespace tf::measure {
namespace {

constexpr SilenceLimits kLimits = {.slack = absl::Seconds(30), .reference = absl::Seconds(120)};
constexpr LongestTrial kTrial = {.run_limit = absl::Seconds(10)};
const rpc::Instant kStart = absl::Seconds(1000);

class SilenceTest : public testing::Test {
 protected:
  SilenceTest() {
    silence_.stream_begins(kStart);
    silence_.broken(kStart);
  }
  Remedy after(int seconds) { return silence_.remedy(kStart + absl::Seconds(seconds), kTrial); }

  Silence silence_{kLimits};
};

TEST_F(SilenceTest, MayLastAsLongAsATrialThatRunsTwice) {
  EXPECT_EQ(after(49), Remedy::kNone);
  EXPECT_EQ(after(50), Remedy::kTellAgain);
  EXPECT_EQ(after(51), Remedy::kNone) << "once";
}

TEST_F(SilenceTest, MayLastAsLongAsTheArtifactsTakeOnTheSlowestLine) {
  const LongestTrial large = {.run_limit = kTrial.run_limit, .artifact_bytes = 3 * rpc::kChunkBytes};
  EXPECT_EQ(silence_.remedy(kStart + absl::Seconds(50 + 29), large), Remedy::kNone);
  EXPECT_EQ(silence_.remedy(kStart + absl::Seconds(50 + 30), large), Remedy::kTellAgain);
}

TEST_F(SilenceTest, EndsWithEachAnswer) {
  silence_.broken(kStart + absl::Seconds(40));
  EXPECT_EQ(after(89), Remedy::kNone);
  EXPECT_EQ(after(90), Remedy::kTellAgain);
}

TEST_F(SilenceTest, IsTheDevicesFaultIfTellingAgainBringsNothingAndNoReferenceTakesSoLong) {
  EXPECT_EQ(after(50), Remedy::kTellAgain);
  silence_.stream_ends(kStart + absl::Seconds(50));
  silence_.stream_begins(kStart + absl::Seconds(60));
  EXPECT_EQ(after(60 + 50 + 119), Remedy::kNone);
  EXPECT_EQ(after(60 + 50 + 120), Remedy::kGiveBack);
}

TEST_F(SilenceTest, LastsOnWhenItsStreamBreaksButNotWhileThereIsNone) {
  silence_.stream_ends(kStart + absl::Seconds(20));
  EXPECT_EQ(after(500), Remedy::kNone);
  silence_.stream_begins(kStart + absl::Seconds(500));
  silence_.stream_ends(kStart + absl::Seconds(529));
  EXPECT_EQ(after(600), Remedy::kNone);
  silence_.stream_begins(kStart + absl::Seconds(600));
  EXPECT_EQ(after(601), Remedy::kTellAgain) << "50 s on three streams";
  EXPECT_EQ(after(602), Remedy::kNone) << "the next remedy has its own time";
}

TEST_F(SilenceTest, OfOneStreamIsForgottenOnceAnAnswerComesOnTheNext) {
  silence_.stream_ends(kStart + absl::Seconds(49));
  silence_.stream_begins(kStart + absl::Seconds(60));
  silence_.broken(kStart + absl::Seconds(60));
  EXPECT_EQ(after(60 + 49), Remedy::kNone);
  EXPECT_EQ(after(60 + 50), Remedy::kTellAgain);
}

TEST_F(SilenceTest, IsForgottenOnceAnAnswerComes) {
  EXPECT_EQ(after(50), Remedy::kTellAgain);
  silence_.broken(kStart + absl::Seconds(60));
  EXPECT_EQ(after(110), Remedy::kTellAgain);
}

}  // namespace
}  // namespace tf::measure
