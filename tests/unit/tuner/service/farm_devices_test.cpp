#include "tuner/service/farm/farm_devices.h"

#include <atomic>

#include "device_agent/agent/machine/facts.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/server.h"

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
  const FarmView farm = {
      .device = key == "box" ? std::optional(kAvx2Box) : std::nullopt, .suits = false, .known_keys = {"box"}};
  const target::Target target = parsed(target_text);
  const absl::Status status = check_farm(farm, key, target, needs_of(target));
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

TEST(CheckMeasurable, NamesATargetThatNoAgentMeasuresFor) {
  for (const char* text : {"wasm32"}) {
    const absl::Status status = check_measurable(parsed(text));
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("farm devices cannot measure kernels for " + parsed(text).text()));
  }
  for (const char* text :
       {"host", "x86_64:cpu=znver4", "aarch64", "armv7", "riscv64", "opencl", "cuda:arch=sm_90"})
    EXPECT_TRUE(check_measurable(parsed(text)).ok()) << text;
}

TEST(CheckFarm, AcceptsADeviceThatSuits) {
  EXPECT_TRUE(check_farm({.device = kAvx2Box, .suits = true, .known_keys = {}}, "box",
                         parsed("x86_64:cpu=haswell"), {})
                  .ok());
}

TEST(CheckFarm, SaysWhichThreadsAndLabelsNoDeviceHas) {
  FarmView farm = {.device = kAvx2Box, .suits = false, .known_keys = {"box"}};
  farm.device->threads = 4;
  const auto refused = [&](const DeviceNeeds& needs) {
    const absl::Status status = check_farm(farm, "box", parsed("x86_64"), needs);
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(
      refused({.arch = "x86_64", .cpu_features = {}, .threads = 8, .selector = ""}),
      HasSubstr("runs code for x86_64 has a slot of 8 threads: device a1 has 4 threads and no labels; give "
                "fewer --threads"));
  farm.device->labels = {{"room", "lab2"}};
  EXPECT_THAT(
      refused({.arch = "", .cpu_features = {}, .threads = 8, .selector = "room=lab3"}),
      HasSubstr("has a slot of 8 threads and labels that match room=lab3: device a1 has 4 threads and "
                "the labels room=lab2; give another --selector or --threads"));
  EXPECT_THAT(refused({.arch = "", .cpu_features = {}, .threads = 4, .selector = "room=lab3"}),
              testing::EndsWith("; give another --selector"));
}

// A tracker of which each page holds one device, and which counts what it is asked.
class PagingTracker final : public tunefarm::farm::v1::Operators::Service {
 public:
  grpc::Status ListDevices(grpc::ServerContext*, const tunefarm::farm::v1::ListDevicesRequest* request,
                           tunefarm::farm::v1::ListDevicesReply* reply) override {
    ++asked;
    EXPECT_EQ(request->page_size(), 1u);
    EXPECT_FALSE(request->golden_samples());
    reply->add_known_keys("box");
    if (!request->requirements().selector().empty() && !has_labels) return grpc::Status::OK;
    const bool can = request->requirements().cpu_features().empty() || runs_everything;
    if (request->device_key() != "box" || !can) return grpc::Status::OK;
    reply->add_devices()->set_device_id("a1");
    reply->mutable_devices(0)->set_device_key("box");
    reply->mutable_devices(0)->mutable_facts()->set_arch("x86_64");
    if (runs_everything) {
      *reply->mutable_devices(0)->mutable_facts()->mutable_cpu_features() =
          request->requirements().cpu_features();
    }
    reply->set_next_page_token("a1");
    return grpc::Status::OK;
  }

  std::atomic<int> asked = 0;
  std::atomic<bool> runs_everything = true;
  std::atomic<bool> has_labels = true;
};

TEST(LookAtFarm, AsksForOneDeviceOfTheKeyWhateverTheFarmHas) {
  PagingTracker tracker;
  const auto server = *rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  const target::Target target = parsed("x86_64:cpu=x86-64-v4");
  const auto check = [&](const std::string& key, const std::string& selector = "") {
    DeviceNeeds needs = needs_of(target);
    needs.selector = selector;
    const auto farm = look_at_farm(server->endpoint(), nullptr, key, needs);
    return farm.ok() ? check_farm(*farm, key, target, needs) : farm.status();
  };
  const absl::Status can = check("box");
  EXPECT_TRUE(can.ok()) << can;
  EXPECT_EQ(tracker.asked, 1);
  EXPECT_TRUE(check("box", "room=lab3").ok());
  tracker.has_labels = false;
  EXPECT_THAT(std::string(check("box", "room=lab3").message()), HasSubstr("labels that match room=lab3"));
  tracker.asked = 1;
  tracker.runs_everything = false;
  EXPECT_THAT(std::string(check("box").message()), HasSubstr("device a1 has no "));
  EXPECT_EQ(tracker.asked, 3) << "once more, for an example";
  EXPECT_THAT(std::string(check("toaster").message()), HasSubstr("the tracker knows box"));
}

TEST(CheckFarm, NamesWhatTheDeviceLacks) {
  EXPECT_THAT(
      refusal("box", "x86_64:cpu=x86-64-v4"),
      HasSubstr("no device with the key \"box\" runs code for x86_64:cpu=x86-64-v4: device a1 has no "));
  EXPECT_THAT(refusal("box", "aarch64"), HasSubstr("device a1 is x86_64, not aarch64"));
}

TEST(CheckFarm, NamesTheKeysThatThereAre) {
  EXPECT_THAT(refusal("toaster", "x86_64"), HasSubstr("the tracker knows box"));
  EXPECT_THAT(std::string(check_farm(FarmView(), "box", parsed("x86_64"), {}).message()),
              HasSubstr("the tracker knows none yet"));
}

TEST(SlotSupply, CountsWhatIsFreeOrOurs) {
  const SlotSupply supply = supply_of({{.device = "a", .number = 0},
                                       {.device = "a", .number = 1, .holder = "tuner t", .is_ours = true},
                                       {.device = "b", .holder = "eve"}},
                                      "k");
  EXPECT_EQ(supply.usable, (std::set<std::string>{"a/0", "a/1"}));
  EXPECT_EQ(supply.elsewhere, std::set<std::string>{"b/0"});
}

TEST(SlotSupply, SaysWhoHasTheDevices) {
  std::vector<FarmSlot> slots;
  for (int i = 0; i < 40; ++i) slots.push_back({.device = "m" + std::to_string(i), .holder = "eve"});
  EXPECT_EQ(supply_of(slots, "kM").why_none, "40 of key kM are leased by eve; see `tracker devices`");
  slots[3].holder = "bob";
  EXPECT_EQ(supply_of(slots, "kM").why_none,
            "40 of key kM are leased by bob (1), eve (39); see `tracker devices`");
  EXPECT_EQ(supply_of({slots[3]}, "kM").why_none, "1 of key kM is leased by bob; see `tracker devices`");
}

TEST(SlotSupply, SaysWhatIsWrongWithDevices) {
  FarmSlot a1{.device = "a1", .trouble = "is quarantined", .reason = "Too many open files"};
  FarmSlot a2{.device = "a2", .trouble = "is away"};
  EXPECT_EQ(supply_of({a1}, "kN").why_none,
            "the device a1 of key kN is quarantined: Too many open files; see `tracker devices`");
  FarmSlot a3 = a2;
  a3.device = "a3";
  const SlotSupply supply = supply_of({a2, a3}, "kN");
  EXPECT_THAT(supply.usable, IsEmpty());
  EXPECT_EQ(supply.why_none, "2 devices of key kN, such as a2, which is away; see `tracker devices`");
  EXPECT_EQ(supply_of({}, "kN").why_none, "no device of key kN; see `tracker devices`");
}

TEST(SlotSupply, SaysForHowLongADeviceHasBeenQuarantined) {
  FarmSlot a1{.device = "a1", .trouble = "has been quarantined", .reason = "Too many open files"};
  a1.troubled_for = absl::Seconds(30);
  EXPECT_EQ(supply_of({a1}, "kN").why_none,
            "the device a1 of key kN has been quarantined for less than a minute: Too many open files; see "
            "`tracker devices`");
  a1.troubled_for = absl::Minutes(12) + absl::Seconds(5);
  FarmSlot a2 = a1;
  a2.device = "a2";
  a2.troubled_for = absl::Minutes(200);
  const SlotSupply supply = supply_of({a1, a2}, "kN");
  EXPECT_EQ(supply.why_none,
            "2 devices of key kN, such as a1, which has been quarantined for 12m: Too many open files; see "
            "`tracker devices`");
  EXPECT_THAT(supply_of({a2}, "kN").why_none, HasSubstr("quarantined for 3h20m: "));
  a1.troubled_for = absl::Minutes(12) + absl::Seconds(50);
  EXPECT_EQ(supply_of({a1, a2}, "kN"), supply) << "a job that waits would be told anew each second";
}

}  // namespace
}  // namespace tf::service
