#include "device_agent/agent/offer.h"

#include "base/remedy.h"
#include "device_agent/agent/doctor.h"
#include "proto/config/v1/farm.pb.h"

namespace tf::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tunefarm::config::v1::DeviceAgent;

const CpuSet four = {0, 1, 2, 3};

std::string refusal(const DeviceAgent& config) {
  const absl::Status status = offers_of(config, four, "/state").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(trouble_of(status).remedy, "") << status;  // else a doctor would add one of its own
  return std::string(status.message());
}

TEST(Offers, WithoutAWordTheDeviceIsOneSlotOnAllCpus) {
  DeviceAgent config;
  config.set_key("box");
  const auto offers = offers_of(config, four, "/state");
  ASSERT_TRUE(offers.ok()) << offers.status();
  ASSERT_EQ(offers->size(), 1u);
  EXPECT_THAT(offers->front().slots, ElementsAre(four));
  EXPECT_EQ(offers->front().state_dir, "/state/agent-box");
  EXPECT_FALSE(offers->front().listen);
}

TEST(Offers, SlotsAndCpusAreOneOrTheOther) {
  DeviceAgent config;
  config.set_key("box");
  config.set_slots("0-1,2-3");
  EXPECT_THAT(offers_of(config, four, "/s")->front().slots, ElementsAre(CpuSet{0, 1}, CpuSet{2, 3}));
  config.set_cpus("0");
  EXPECT_THAT(refusal(config), HasSubstr("give one of them"));
}

TEST(Offers, EachOfSeveralDevicesHasItsKeyItsCpusAndItsFolder) {
  DeviceAgent config;
  config.set_state_dir("/var/tf");
  auto& big = *config.add_devices();
  big.set_key("big");
  big.set_cpus("2-3");
  auto& little = *config.add_devices();
  little.set_key("little");
  little.set_slots("0,1");
  little.set_listen("127.0.0.1:7300");
  const auto offers = offers_of(config, four, "/state");
  ASSERT_TRUE(offers.ok()) << offers.status();
  ASSERT_EQ(offers->size(), 2u);
  EXPECT_EQ((*offers)[0].state_dir, "/var/tf/agent-big");
  EXPECT_THAT((*offers)[1].slots, ElementsAre(CpuSet{0}, CpuSet{1}));
  EXPECT_EQ((*offers)[1].listen->port, 7300);
  little.set_slots("1,2");
  EXPECT_THAT(refusal(config), HasSubstr("CPU 2 is given twice"));
  little.set_slots("0,1");
  little.set_key("big");
  EXPECT_THAT(refusal(config), HasSubstr("two devices with the key big"));
  config.set_key("box");
  EXPECT_THAT(refusal(config), HasSubstr("each device its own key"));
}

TEST(Offers, AnAddressThatNobodyListensOnIsAMistake) {
  DeviceAgent config;
  config.set_key("box");
  config.set_advertise("board:7300");
  EXPECT_THAT(refusal(config), HasSubstr("without --listen"));
  config.set_listen("nonsense");
  EXPECT_THAT(refusal(config), HasSubstr("HOST:PORT"));
}

TEST(AgentDoctor, SaysWhatTheMachineLacks) {
  EXPECT_EQ(examine_memory(1'000'000).health, Health::kWeak);
  EXPECT_THAT(examine_memory(1'000'000).remedy, HasSubstr("offer fewer"));
  EXPECT_EQ(examine_disk("/dev/null/nowhere", 1).health, Health::kFailed);
  EXPECT_EQ(examine_disk(testing::TempDir() + "/not/there/yet", 1).health, Health::kGood);
  EXPECT_EQ(examine_disk(testing::TempDir(), uint64_t{1} << 62).health, Health::kWeak);
  EXPECT_EQ(examine_cpus({{.key = "box", .slots = {{0}}}}).detail, "slots: 0");
}

TEST(Offers, SlotsOfAllDevicesTogetherLeaveTheSystemAnEighthOfTheMemory) {
  const std::vector<Offer> offers = {{.slots = {{0}, {1}, {2}}}, {.slots = {{3}}}};
  EXPECT_EQ(slot_count(offers), 4u);
  EXPECT_EQ(slot_memory_bytes(offers, uint64_t{8} << 30), (uint64_t{7} << 30) / 4);
}

TEST(Offers, ArtifactsOnTheirWayTakeHalfOfThatEighthAndNoMoreThanAGiB) {
  const std::vector<Offer> offers = {{.slots = {{0}, {1}, {2}}}, {.slots = {{3}}}};
  EXPECT_EQ(transfer_memory_bytes(offers, uint64_t{1} << 30), 32u << 20);
  EXPECT_EQ(transfer_memory_bytes(offers, uint64_t{1} << 40), 1u << 30);
}

}  // namespace
}  // namespace tf::agent
