#include "tracker/leases/rank.h"

namespace tf::tracker {
namespace {

const RankOptions kOptions;
const rpc::Instant kStart = absl::Seconds(1000);

Rank rank(rpc::Instant arrived, int priority, double cost, rpc::Instant now) {
  return rank_of(virtual_arrival(arrived, priority, kOptions), cost, now, kOptions);
}

TEST(Rank, HigherPriorityGoesFirst) {
  EXPECT_LT(rank(kStart, 1, 1000, kStart), rank(kStart, 0, 0, kStart));
}

TEST(Rank, CheaperUserGoesFirstAtTheSameLevel) {
  EXPECT_LT(rank(kStart + absl::Seconds(5), 0, 10, kStart + absl::Seconds(9)),
            rank(kStart, 0, 20, kStart + absl::Seconds(9)));
}

TEST(Rank, FirstComeGoesFirstWhenUsersCostTheSameOrNextToNothing) {
  EXPECT_LT(rank(kStart, 0, 0.9, kStart + absl::Seconds(9)),
            rank(kStart + absl::Seconds(1), 0, 0, kStart + absl::Seconds(9)));
}

TEST(Rank, WaitingRaisesTheLevelByOneEachAgeing) {
  const rpc::Instant later = kStart + absl::Seconds(61);
  EXPECT_LT(rank(kStart, 0, 1000, later), rank(later, 1, 0, later));
  EXPECT_LT(rank(kStart, 0, 0, later), rank(later, 2, 0, later)) << "came before at the same level";
  EXPECT_GT(rank(kStart, 0, 1000, later), rank(later, 3, 0, later));
}

TEST(Rank, WhoIsOverdueGoesBeforeEverybody) {
  const rpc::Instant late = kStart + 20 * kOptions.ageing + kOptions.overdue;
  EXPECT_LT(rank(kStart, -10, 1e9, late), rank(late, 10, 0, late));
  const rpc::Instant before = late - absl::Nanoseconds(1);
  EXPECT_GT(rank(kStart, -10, 1e9, before), rank(before, 10, 0, before));
}

}  // namespace
}  // namespace tf::tracker
