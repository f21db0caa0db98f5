// How many may be connected, and how often a caller may call.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/fake_clock.h"
#include "tuner/web/http/connections.h"
#include "tuner/web/http/rate_limit.h"

namespace tf::web {
namespace {

using rpc::FakeClock;

TEST(Connections, OfOneAddressAreBoundedUnlessItIsThisMachine) {
  Connections connections({.in_all = 10, .of_each = 2});
  const auto enter = [&](const char* address, bool is_loopback) {
    return connections.enter(address, is_loopback, [] {});
  };
  const auto first = enter("10.0.0.1", false);
  EXPECT_TRUE(first && enter("10.0.0.1", false));
  EXPECT_FALSE(enter("10.0.0.1", false));
  EXPECT_TRUE(enter("10.0.0.2", false));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(enter("127.0.0.1", true));
  connections.leave(*first);
  EXPECT_TRUE(enter("10.0.0.1", false));
}

TEST(Connections, OneThatWaitedLongestForARequestGoesForANewOne) {
  FakeClock clock;
  Connections connections({.in_all = 3, .of_each = 64}, clock);
  std::set<int> ended;
  std::vector<Connections::Id> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(*connections.enter("a", true, [&ended, i] { ended.insert(i); }));
    connections.set_waiting(ids.back(), true);
    clock.advance(absl::Seconds(1));
  }
  connections.set_waiting(ids[0], false);  // it is being answered
  EXPECT_TRUE(connections.enter("a", true, [] {}));
  EXPECT_EQ(ended, std::set<int>{1});
  EXPECT_EQ(connections.count(), 3u);
  connections.leave(ids[1]);  // hears of it later
  EXPECT_EQ(connections.count(), 3u);
}

TEST(Connections, WhereAllAreBusyANewOneIsRefused) {
  Connections connections({.in_all = 2, .of_each = 64});
  EXPECT_TRUE(connections.enter("a", true, [] {}));
  EXPECT_TRUE(connections.enter("a", true, [] {}));
  EXPECT_FALSE(connections.enter("a", true, [] {}));
}

TEST(RateLimit, FillsAgain) {
  FakeClock clock;
  RateLimit limit({.per_s = 10, .burst = 3}, clock);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.take("ada"), absl::ZeroDuration());
  EXPECT_EQ(limit.take("ada"), absl::Milliseconds(100));
  EXPECT_EQ(limit.take("bob"), absl::ZeroDuration()) << "another's bucket";
  clock.advance(absl::Milliseconds(100));
  EXPECT_EQ(limit.take("ada"), absl::ZeroDuration());
  clock.advance(absl::Hours(1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.take("ada"), absl::ZeroDuration());
  EXPECT_GT(limit.take("ada"), absl::ZeroDuration()) << "a bucket holds no more than a burst";
}

TEST(RateLimit, KnowsABoundedNumberOfCallers) {
  FakeClock clock;
  RateLimit limit({.per_s = 1, .burst = 1, .most_callers = 100}, clock);
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(limit.take(absl::StrCat(i)), absl::ZeroDuration());
}

}  // namespace
}  // namespace tf::web
