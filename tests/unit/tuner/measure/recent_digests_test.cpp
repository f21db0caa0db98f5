#include "tuner/measure/recent_digests.h"

#include <gtest/gtest.h>

#include <utility>

namespace tf::measure {
namespace {

TEST(RecentDigests, AreThoseThatWereUsedLast) {
  RecentDigests digests(2);
  digests.insert("reference");
  for (const char* each : {"a", "b", "c"}) {
    digests.insert(each);
    EXPECT_TRUE(digests.contains(each));
    EXPECT_TRUE(digests.contains("reference")) << each;
  }
  EXPECT_FALSE(digests.contains("a"));
  EXPECT_FALSE(digests.contains("b"));
  digests.insert("c");  // again
  EXPECT_TRUE(digests.contains("reference")) << "nothing had to make room";
}

TEST(RecentDigests, AreForgottenWhenTheyAreErased) {
  RecentDigests digests(2);
  digests.insert("a");
  digests.erase("a");
  digests.erase("b");
  EXPECT_FALSE(digests.contains("a"));
  digests.insert("a");
  EXPECT_TRUE(digests.contains("a"));
}

TEST(RecentDigests, AreTheSameWhereverTheyAreMoved) {
  RecentDigests digests(2);
  digests.insert("a");
  digests.insert("b");
  RecentDigests moved = std::move(digests);
  EXPECT_TRUE(moved.contains("a"));
  moved.insert("c");
  EXPECT_TRUE(moved.contains("a"));
  EXPECT_FALSE(moved.contains("b"));
}

}  // namespace
}  // namespace tf::measure
