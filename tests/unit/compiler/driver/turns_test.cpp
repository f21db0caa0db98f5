#include "compiler/driver/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tf::driver {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Notes who runs when. The first run of a turn is slow: it finds the other's weights.
class RunInTurns : public testing::Test {
 protected:
  driver::Run build(char name, double ns) {
    return [this, name, ns]() -> absl::StatusOr<double> {
      const bool is_cold = order_.empty() || order_.back() != name;
      order_ += name;
      if (static_cast<int>(order_.size()) == fail_at_) return absl::InternalError("the model failed");
      return is_cold ? 10 * ns : ns;
    };
  }

  std::string order_;
  int fail_at_ = 0;
};

TEST_F(RunInTurns, GivesEachBuildARowOfRunsAndAnotherOneTheFirstEachRound) {
  const driver::Run builds[] = {build('a', 1), build('b', 2), build('c', 3)};
  ASSERT_TRUE(run_in_turns(builds, {.rounds = 2}).ok());
  EXPECT_EQ(order_, "aaabbbcccbbbcccaaa");
}

TEST_F(RunInTurns, CountsNoRunThatFollowsAnotherBuilds) {
  const driver::Run builds[] = {build('a', 100), build('b', 200)};
  const auto rounds = run_in_turns(builds, {.rounds = 4});
  ASSERT_TRUE(rounds.ok()) << rounds.status();
  ASSERT_THAT(*rounds, SizeIs(2));
  // In rounds of two builds, the last of one round is the first of the next: all of its runs are warm.
  EXPECT_THAT((*rounds)[0], ElementsAre(100, 100, 100, 100));
  EXPECT_THAT((*rounds)[1], ElementsAre(200, 200, 200, 200));
}

TEST_F(RunInTurns, EndsWithTheRoundAfterWhichItIsEnough) {
  const driver::Run builds[] = {build('a', 1), build('b', 2)};
  const auto rounds = run_in_turns(
      builds, {.rounds = 100, .is_enough = [](std::span<const Rounds> all) { return all[1].size() == 3; }});
  ASSERT_TRUE(rounds.ok()) << rounds.status();
  EXPECT_THAT((*rounds)[0], SizeIs(3));
  EXPECT_THAT(order_, SizeIs(3 * 2 * kTurn));
}

TEST_F(RunInTurns, LeavesItAtWholeRoundsWhenItIsOverAndRunsNothingMore) {
  const driver::Run builds[] = {build('a', 1), build('b', 2)};
  const auto rounds = run_in_turns(builds, {.is_over = [&] { return order_.size() >= 10; }});
  ASSERT_TRUE(rounds.ok()) << rounds.status();
  EXPECT_THAT((*rounds)[0], SizeIs(1));
  EXPECT_THAT((*rounds)[1], SizeIs(1));
  EXPECT_THAT(order_, SizeIs(10));
  order_.clear();
  const auto none = run_in_turns(builds, {.is_over = [] { return true; }});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_THAT((*none)[0], SizeIs(0));
  EXPECT_EQ(order_, "");
}

TEST_F(RunInTurns, EndsWithWhatARunSays) {
  const driver::Run builds[] = {build('a', 1), build('b', 2)};
  fail_at_ = 5;
  EXPECT_EQ(run_in_turns(builds, {}).status().message(), "the model failed");
  EXPECT_EQ(order_, "aaabb");
}

}  // namespace
}  // namespace tf::driver
