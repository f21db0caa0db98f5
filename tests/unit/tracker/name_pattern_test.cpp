#include "tracker/operators/name_pattern.h"

#include <gtest/gtest.h>

namespace tf::tracker {
namespace {

TEST(NamePattern, StarStandsForAnyCharacters) {
  for (const char* pattern : {"*", "rack1-*", "*-7", "r*-7", "rack1-7", "r*k*7", "*rack1-7*"})
    EXPECT_TRUE(matches_pattern(pattern, "rack1-7")) << pattern;
  for (const char* pattern : {"", "rack", "rack2-*", "*-8", "rack1-7?", "*7*7", "ack*"})
    EXPECT_FALSE(matches_pattern(pattern, "rack1-7")) << pattern;
  EXPECT_TRUE(matches_pattern("box/*", "box/cuda/0"));
  EXPECT_FALSE(matches_pattern("a*a", "a")) << "no character counts twice";
}

}  // namespace
}  // namespace tf::tracker
