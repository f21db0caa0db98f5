#include "rpc/random_id.h"

#include <set>

namespace tf::rpc {
namespace {

TEST(RandomId, IsSixteenDigitsAndNeverTheSame) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = random_id();
    EXPECT_THAT(id, testing::MatchesRegex("[0-9a-f]{16}"));
    EXPECT_TRUE(seen.insert(id).second);
  }
}

}  // namespace
}  // namespace tf::rpc
