#include "rpc/backoff.h"

namespace tf::rpc {
namespace {

TEST(Backoff, GrowsToItsBoundAndNeverLeavesIt) {
  Backoff backoff(7, {.first = absl::Milliseconds(100), .longest = absl::Seconds(1)});
  absl::Duration longest;
  for (int i = 0; i < 200; ++i) {
    const absl::Duration delay = backoff.next();
    EXPECT_GE(delay, absl::Milliseconds(50));
    EXPECT_LE(delay, i == 0 ? absl::Milliseconds(100) : absl::Seconds(1));
    longest = std::max(longest, delay);
  }
  EXPECT_GT(longest, absl::Milliseconds(900));
}

TEST(Backoff, StartsAgainAfterSuccess) {
  Backoff backoff(7, {.first = absl::Milliseconds(100), .longest = absl::Seconds(60)});
  for (int i = 0; i < 10; ++i) backoff.next();
  backoff.reset();
  EXPECT_LE(backoff.next(), absl::Milliseconds(100));
}

TEST(Backoff, DiffersBetweenSeedsSoThatAStormSpreads) {
  Backoff a(1);
  Backoff b(2);
  EXPECT_NE(a.next(), b.next());
}

}  // namespace
}  // namespace tf::rpc
