#include "tuner/service/sharing/slot_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"

namespace tf::service {
namespace {

using testing::ElementsAre;
using testing::IsSubsetOf;
using testing::Not;
using testing::SizeIs;

std::set<std::string> slots(int from, int until) {
  std::set<std::string> names;
  for (int i = from; i < until; ++i) names.insert(absl::StrCat("m", 10 + i, "/0"));
  return names;
}

SlotClaim claim(int64_t job, const std::string& submitter, std::set<std::string> usable,
                std::set<std::string> held = {}, int priority = 0) {
  return {.turn = turn_of(job, priority, 0),
          .submitter = submitter,
          .runs = !held.empty(),
          .usable = std::move(usable),
          .held = std::move(held)};
}

std::map<int64_t, std::set<std::string>> shares(const std::vector<SlotClaim>& claims) {
  return share_slots(claims);
}

std::map<int64_t, size_t> counts(const std::vector<SlotClaim>& claims) {
  std::map<int64_t, size_t> sizes;
  for (const auto& [job, share] : share_slots(claims)) sizes[job] = share.size();
  return sizes;
}

using Counts = std::map<int64_t, size_t>;

TEST(SlotShares, OneJobHasAllSlotsOrAsManyAsItMay) {
  EXPECT_EQ(counts({claim(1, "ada", slots(0, 40))}), (Counts{{1, 40}}));
  SlotClaim modest = claim(1, "ada", slots(0, 40));
  modest.most = 3;
  EXPECT_EQ(counts({modest}), (Counts{{1, 3}}));
  EXPECT_EQ(counts({modest, claim(2, "ada", slots(0, 40))}), (Counts{{1, 3}, {2, 37}}));
}

TEST(SlotShares, TheFirstJobGivesBackWhatIsAnothersShareAndKeepsTheRest) {
  const auto all = slots(0, 8);
  const auto shared = shares({claim(1, "ada", all, all), claim(2, "bob", all)});
  EXPECT_THAT(shared.at(1), SizeIs(4));
  EXPECT_THAT(shared.at(2), SizeIs(4));
  // Once the second has some, nothing moves any more.
  const auto again = shares({claim(1, "ada", all, shared.at(1)), claim(2, "bob", all, shared.at(2))});
  EXPECT_EQ(again, shared);
}

TEST(SlotShares, OthersTakeOverTheSlotsOfAJobThatEnds) {
  const auto all = slots(0, 8);
  EXPECT_EQ(counts({claim(2, "bob", all, slots(0, 4))}), (Counts{{2, 8}}));
}

TEST(SlotShares, SubmittersHaveTheSameHoweverManyJobsTheyHave) {
  const auto all = slots(0, 8);
  EXPECT_EQ(counts({claim(1, "ada", all), claim(2, "ada", all), claim(3, "ada", all), claim(4, "bob", all)}),
            (Counts{{1, 2}, {2, 1}, {3, 1}, {4, 4}}));
}

TEST(SlotShares, AmongEqualsTheOneWhoseSubmitterHadLessHasTheOddSlot) {
  SlotClaim rich = claim(1, "ada", slots(0, 3)), poor = claim(2, "bob", slots(0, 3));
  rich.turn = turn_of(1, 0, 600);
  EXPECT_EQ(counts({rich, poor}), (Counts{{1, 1}, {2, 2}}));
}

TEST(SlotShares, TheOddSlotStaysWhereItIs) {
  const auto all = slots(0, 3);
  SlotClaim rich = claim(1, "ada", all, slots(0, 2)), poor = claim(2, "bob", all, slots(2, 3));
  rich.turn = turn_of(1, 0, 600);
  EXPECT_EQ(counts({rich, poor}), (Counts{{1, 2}, {2, 1}})) << "else it went to and fro all the time";
}

TEST(SlotShares, OfMoreJobsThanSlotsThoseWhoseTurnItIsHaveOneEach) {
  const auto all = slots(0, 2);
  EXPECT_EQ(counts({claim(1, "ada", all), claim(2, "ada", all), claim(3, "bob", all)}),
            (Counts{{1, 1}, {3, 1}}));
}

TEST(SlotShares, WhoRunsKeepsOneSlotWhoeverComes) {
  const auto all = slots(0, 4);
  EXPECT_EQ(counts({claim(1, "ada", all, all), claim(2, "bob", all, {}, 5)}), (Counts{{1, 1}, {2, 3}}));
  const auto one = slots(0, 1);
  EXPECT_EQ(counts({claim(1, "ada", one, one), claim(2, "bob", one, {}, 5)}), (Counts{{1, 1}}));
}

TEST(SlotShares, AHigherPriorityHasAllThatItCanUse) {
  const auto all = slots(0, 4);
  EXPECT_EQ(counts({claim(1, "ada", all), claim(2, "bob", all, {}, 1)}), (Counts{{2, 4}}));
  SlotClaim first = claim(2, "bob", all, {}, 1);
  first.most = 3;
  EXPECT_EQ(counts({claim(1, "ada", all), first}), (Counts{{1, 1}, {2, 3}}));
}

// As of a job with a selector that few devices match.
TEST(SlotShares, WhatFewCanUseIsLeftToThem) {
  const auto all = slots(0, 8), few = slots(0, 2);
  const auto shared = shares({claim(1, "ada", all, all), claim(2, "bob", few)});
  EXPECT_EQ(shared.at(2), few);
  EXPECT_EQ(shared.at(1), slots(2, 8));
}

TEST(SlotShares, DisjointDevicesAreNotShared) {
  EXPECT_EQ(counts({claim(1, "ada", slots(0, 2)), claim(2, "ada", slots(2, 6))}), (Counts{{1, 2}, {2, 4}}));
}

TEST(SlotShares, AJobWithoutUsableSlotsHasNone) {
  EXPECT_EQ(counts({claim(1, "ada", {}), claim(2, "bob", slots(0, 1))}), (Counts{{2, 1}}));
}

}  // namespace
}  // namespace tf::service
