#include "tracker/leases/device.h"

#include <gtest/gtest.h>

#include <limits>

#include "proto/farm/v1/farm.pb.h"
#include "tracker/leases/device_wire.h"
#include "tracker/leases/names.h"

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
    EXPECT_THAT(std::string(refused.message()), HasSubstr("agent a1 reports that slot 0 has accepted epoch"));
  }
  const absl::StatusOr<DeviceInfo> device = device_from_proto(hello(uint64_t{1} << 62));
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->slots[0].highest_epoch, uint64_t{1} << 62);
}

TEST(DeviceFromProto, TellsWhetherTheAgentListensAndRunsTheGoldenKernel) {
  AgentHello message = hello(0);
  EXPECT_FALSE(device_from_proto(message)->listens);
  EXPECT_FALSE(device_from_proto(message)->runs_golden());
  message.set_direct_endpoint("host:1");
  message.mutable_facts()->add_capabilities(tunefarm::farm::v1::CAPABILITY_GOLDEN_KERNEL);
  EXPECT_TRUE(device_from_proto(message)->listens);
  EXPECT_TRUE(device_from_proto(message)->runs_golden());
}

// They reach logs, an operator's command and the state file.
TEST(DeviceFromProto, RefusesNamesThatAreLongOrNotPrintable) {
  const std::vector<std::string> ids = {"",
                                        "box/",
                                        "/box",
                                        "a b",
                                        "box/x\nlease granted",
                                        "box/$(reboot)",
                                        "-a",
                                        "box/../x",
                                        "\x1b[2J",
                                        std::string(129, 'a')};
  for (const std::string& id : ids) {
    AgentHello message = hello(1);
    message.set_agent_id(id);
    const absl::Status refused = device_from_proto(message).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << id << ": " << refused;
    EXPECT_LT(refused.message().size(), 400u);
    EXPECT_EQ(refused.message().find('\n'), std::string::npos);
  }
  for (const std::string& key : std::vector<std::string>{"", "pi\n4", "\xff", std::string(129, 'k')}) {
    AgentHello message = hello(1);
    message.set_device_key(key);
    EXPECT_TRUE(absl::IsInvalidArgument(device_from_proto(message).status())) << key;
  }
  AgentHello good = hello(1);
  good.set_agent_id("box-1a2b3c4d/little_0.x");
  good.set_device_key("Raspberry Pi 4 (Küche)");
  EXPECT_TRUE(device_from_proto(good).ok()) << device_from_proto(good).status();
}

TEST(DeviceFromProto, RefusesMoreThanATrackerShouldKeepOfADevice) {
  AgentHello slots = hello(1);
  while (slots.slots_size() <= 256) {
    auto& slot = *slots.add_slots();
    slot.set_slot(static_cast<uint32_t>(slots.slots_size()));
    slot.add_cpus(0);
  }
  EXPECT_THAT(std::string(device_from_proto(slots).status().message()), HasSubstr("257 slots"));
  AgentHello facts = hello(1);
  facts.mutable_facts()->set_cpu_model(std::string(64 << 10, 'x'));
  EXPECT_THAT(std::string(device_from_proto(facts).status().message()),
              HasSubstr("at most 65536 are accepted"));
  tunefarm::farm::v1::Requirements requirements;
  requirements.add_cpu_features(std::string(16 << 10, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(requirements_from_proto(requirements).status()));
}

// However often an agent comes back with others.
TEST(DeviceFromProto, RefusesSlotsThatAreNumberedHigherThanThereMayBe) {
  AgentHello message = hello(0);
  message.mutable_slots(0)->set_slot(255);
  EXPECT_TRUE(device_from_proto(message).ok()) << device_from_proto(message).status();
  for (const uint32_t slot : {256u, std::numeric_limits<uint32_t>::max()}) {
    message.mutable_slots(0)->set_slot(slot);
    const absl::Status refused = device_from_proto(message).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("number them from 0 to 255"));
  }
}

TEST(Names, OfHoldersArePrintableAndFitALine) {
  EXPECT_TRUE(check_holder_name("the holder", "tuner box:0123456789abcdef").ok());
  EXPECT_TRUE(check_holder_name("the holder", "").ok());
  EXPECT_TRUE(check_holder_name("the holder", std::string(200, 'h')).ok());
  EXPECT_FALSE(check_holder_name("the holder", std::string(201, 'h')).ok());
  EXPECT_FALSE(check_holder_name("the holder", "a\rb").ok());
}

}  // namespace
}  // namespace tf::tracker
