#include "tuner/service/uploads.h"

namespace tf::service {
namespace {

TEST(Uploads, OfOneSubmitterKeepNobodyElsesAway) {
  Uploads uploads;
  std::vector<Uploads::Turn> of_ada;
  for (size_t i = 0; i < Uploads::kMostEach; ++i) {
    auto turn = uploads.begin("ada");
    ASSERT_TRUE(turn.ok()) << turn.status();
    of_ada.push_back(*std::move(turn));
  }
  const absl::Status refused = uploads.begin("ada").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("2 models of ada"));
  EXPECT_TRUE(uploads.begin("bob").ok());
  of_ada.pop_back();
  EXPECT_TRUE(uploads.begin("ada").ok());
}

}  // namespace
}  // namespace tf::service
