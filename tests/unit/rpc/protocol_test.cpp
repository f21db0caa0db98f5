#include "rpc/connection/protocol.h"

#include <gtest/gtest.h>

namespace {

using tf::rpc::check_protocol;
using tf::rpc::kProtocolVersion;

TEST(Protocol, IsSpokenInOneVersionOnly) {
  EXPECT_TRUE(check_protocol("the agent", kProtocolVersion, "this tracker").ok());
  for (uint32_t theirs : {kProtocolVersion - 1, kProtocolVersion + 1}) {
    const absl::Status refused = check_protocol("the agent", theirs, "this tracker");
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("upgrade the older of the two"));
  }
}

TEST(Protocol, OfDevicesThatTimeWithWarmConstantsIsRefused) {
  EXPECT_FALSE(check_protocol("the agent", 1, "this tracker").ok());
}

}  // namespace
