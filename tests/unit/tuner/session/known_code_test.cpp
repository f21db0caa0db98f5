#include "tuner/session/loop/known_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tf::session {
namespace {

using Codes = KnownCode<int, std::string>;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(KnownCode, LetsTheFirstOfEachCodeBeMeasured) {
  Codes codes;
  std::string outcome;
  EXPECT_EQ(codes.claim(0, "a", 1, &outcome), Codes::Claim::kMeasure);
  EXPECT_EQ(codes.claim(0, "b", 2, &outcome), Codes::Claim::kMeasure);
  EXPECT_EQ(codes.claim(1, "a", 3, &outcome), Codes::Claim::kMeasure) << "another task's sizes";
  EXPECT_EQ(codes.claim(0, "", 4, &outcome), Codes::Claim::kMeasure);
  EXPECT_EQ(codes.claim(0, "", 5, &outcome), Codes::Claim::kMeasure) << "no digest is nobody's duplicate";
}

TEST(KnownCode, GivesDuplicatesTheOutcomeOfTheFirst) {
  Codes codes;
  std::string outcome;
  codes.claim(0, "a", 1, &outcome);
  EXPECT_EQ(codes.claim(0, "a", 2, &outcome), Codes::Claim::kWait);
  EXPECT_EQ(codes.claim(0, "a", 3, &outcome), Codes::Claim::kWait);
  EXPECT_THAT(codes.settle(0, "a", "fast"), ElementsAre(2, 3));
  EXPECT_EQ(codes.claim(0, "a", 4, &outcome), Codes::Claim::kKnown);
  EXPECT_EQ(outcome, "fast");
  EXPECT_THAT(codes.settle(0, "a", "faster"), IsEmpty());
}

TEST(KnownCode, LetsAnotherTryWhatCouldNotBeMeasured) {
  Codes codes;
  std::string outcome;
  codes.claim(0, "a", 1, &outcome);
  codes.claim(0, "a", 2, &outcome);
  EXPECT_THAT(codes.give_up(0, "a"), ElementsAre(2));
  EXPECT_EQ(codes.claim(0, "a", 2, &outcome), Codes::Claim::kMeasure);
}

TEST(KnownCode, KeepsWhatIsKnownWhenAnotherOfTheSameCodeCouldNotBeMeasured) {
  Codes codes;
  std::string outcome;
  codes.settle(0, "a", "fast");
  EXPECT_THAT(codes.give_up(0, "a"), IsEmpty());
  EXPECT_EQ(codes.claim(0, "a", 2, &outcome), Codes::Claim::kKnown);
}

}  // namespace
}  // namespace tf::session
