#include "tracker/device.h"

#include <gtest/gtest.h>

#include <limits>

#include "proto/farm/v1/farm.pb.h"

namespace tf::tracker {
namespace {

using testing::HasSubstr;
using tunefarm::farm::v1::AgentHello;

AgentHello hello(uint64_t highest_epoch) {
  AgentHello message;
  message.set_agent_id("a1");
  message.set_device_key("box");
  auto& slot = *message.add_slots();
  slot.add_cpus(0);
  slot.set_highest_epoch(highest_epoch);
  return message;
}

TEST(DeviceFromProto, RefusesAnEpochFromWhichTheNextOnesWouldWrap) {
  for (const uint64_t epoch : {std::numeric_limits<uint64_t>::max(), std::numeric_limits<uint64_t>::max() - 1,
                               static_cast<uint64_t>(std::numeric_limits<int64_t>::max())}) {
    const absl::Status refused = device_from_proto(hello(epoch)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("agent a1 says that slot 0 has accepted epoch"));
  }
  const absl::StatusOr<DeviceInfo> device = device_from_proto(hello(uint64_t{1} << 62));
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->slots[0].highest_epoch, uint64_t{1} << 62);
}

}  // namespace
}  // namespace tf::tracker
