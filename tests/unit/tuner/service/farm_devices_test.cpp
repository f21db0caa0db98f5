#include "tuner/service/farm_devices.h"

#include "device_agent/agent/facts.h"
#include "proto/farm/v1/farm.pb.h"

namespace tf::service {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;
using testing::Not;

target::Target parsed(const std::string& text) {
  absl::StatusOr<target::Target> target = target::parse_target(text);
  EXPECT_TRUE(target.ok()) << target.status();
  return *target;
}

const FarmDevice kAvx2Box = {.id = "a1",
                             .key = "box",
                             .arch = "x86_64",
                             .cpu_features = {"sse4.2", "avx", "avx2", "fma", "f16c", "bmi2", "popcnt"}};

std::string refusal(const std::string& key, const std::string& target_text) {
  const absl::Status status = check_farm({kAvx2Box}, key, parsed(target_text));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  return std::string(status.message());
}

TEST(DeviceNeeds, AreTheFeaturesThatCodeForTheTargetMayUse) {
  const DeviceNeeds wide = needs_of(parsed("x86_64:cpu=x86-64-v4"));
  EXPECT_EQ(wide.arch, "x86_64");
  EXPECT_THAT(wide.cpu_features, AllOf(Contains("avx512f"), Contains("avx2"), Contains("fma")));
  EXPECT_THAT(needs_of(parsed("x86_64:cpu=x86-64-v3,+avx512f")).cpu_features, Contains("avx512f"));
  EXPECT_THAT(needs_of(parsed("x86_64:cpu=znver4,-avx512bf16")).cpu_features, Not(Contains("avx512bf16")));
  EXPECT_THAT(needs_of(parsed("x86_64")).cpu_features, IsEmpty());
  EXPECT_THAT(needs_of(parsed("aarch64:cpu=neoverse-n1")).cpu_features, Contains("dotprod"));
  EXPECT_EQ(needs_of(parsed("cuda:arch=sm_90")).arch, "");
}

// A device whose agent runs here has what is needed to run code for "host", in the same words.
TEST(DeviceNeeds, OfTheHostAreAmongTheFactsOfAnAgentOnIt) {
  const auto facts = agent::read_facts();
  const DeviceNeeds needs = needs_of(target::host_target());
  EXPECT_EQ(needs.arch, facts.arch());
  EXPECT_THAT(needs.cpu_features, IsSubsetOf(facts.cpu_features()));
}

TEST(CheckFarm, AcceptsADeviceThatRunsTheTargetsCode) {
  EXPECT_TRUE(check_farm({kAvx2Box}, "box", parsed("x86_64:cpu=haswell")).ok());
  FarmDevice wide = kAvx2Box;
  for (const std::string& feature : needs_of(parsed("x86_64:cpu=x86-64-v4")).cpu_features)
    wide.cpu_features.insert(feature);
  EXPECT_TRUE(check_farm({kAvx2Box, wide}, "box", parsed("x86_64:cpu=x86-64-v4")).ok())
      << "one device with the key is enough";
}

TEST(CheckFarm, NamesWhatTheDeviceLacks) {
  EXPECT_THAT(refusal("box", "x86_64:cpu=x86-64-v4"),
              HasSubstr("no device with the key \"box\" runs code for x86_64:cpu=x86-64-v4: device a1 has no "
                        "avx512"));
  EXPECT_THAT(refusal("box", "aarch64"), HasSubstr("device a1 is x86_64, not aarch64"));
}

TEST(CheckFarm, NamesTheKeysThatThereAre) {
  EXPECT_THAT(refusal("toaster", "x86_64"), HasSubstr("the tracker knows box"));
  EXPECT_THAT(std::string(check_farm({}, "box", parsed("x86_64")).message()),
              HasSubstr("the tracker knows none yet"));
}

}  // namespace
}  // namespace tf::service
