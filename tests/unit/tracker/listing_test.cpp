// The devices of a large farm, through its real service.

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/call_pool.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/server.h"
#include "tests/unit/tracker/farm_fixture.h"
#include "tracker/leases/device_wire.h"
#include "tracker/operators/devices_text.h"
#include "tracker/operators/operator_client.h"
#include "tracker/service/services.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

// A page, of which there are several at this size, is to come within a deadline, and the thread sanitizer
// makes it take twenty times as long.
#ifdef __SANITIZE_THREAD__
constexpr int kTimesFewer = 20;
#else
constexpr int kTimesFewer = 1;
#endif

class ListingTest : public FarmTest {
 protected:
  void SetUp() override {
    FarmTest::SetUp();
    farm_->on_unsaved([] {});  // the disk has no part in this
    service_ = make_operator_service(*farm_, calls_);
    auto server = rpc::Server::start({"127.0.0.1", 0}, {service_.get()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = pb::Operators::NewStub(rpc::make_channel(server_->endpoint()));
  }
  void TearDown() override {
    server_->stop(absl::ZeroDuration());
    calls_.finish();  // a call that its caller gave up is in the server until its thread is through
    server_ = nullptr;
    FarmTest::TearDown();
  }

  // About as much as a server's agent says.
  Farm::SessionId attach_large(int number, const std::string& key, int samples = 0) {
    pb::AgentHello hello;
    hello.set_agent_id(absl::StrCat("d", 100'000 + number));
    hello.set_device_key(key);
    hello.add_slots()->add_cpus(0);
    (*hello.mutable_labels())["room"] = number % 2 == 0 ? "even" : "odd";
    for (int i = 0; i < 100; ++i) hello.mutable_facts()->add_cpu_features(absl::StrCat("avx512feature", i));
    const auto session = *farm_->attach(*device_from_proto(hello), "run", std::make_shared<FakeLink>());
    std::vector<GoldenSample> taken;
    for (int i = 0; i < samples; ++i) {
      taken.push_back({.slot = 0,
                       .kernel = std::string(64, 'k'),
                       .time_ns = 1'000'000 + i,
                       .taken_at = clock_.now() + absl::Seconds(10 * i),
                       .detail = std::string(200, 'd')});
    }
    farm_->report_golden(session, taken);
    return session;
  }

  pb::ListDevicesReply list(const pb::ListDevicesRequest& request) {
    grpc::ClientContext context;
    pb::ListDevicesReply reply;
    const grpc::Status status = stub_->ListDevices(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  }

  rpc::CallPool calls_{{.what = "calls"}};
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<pb::Operators::Stub> stub_;
};

TEST_F(ListingTest, OfTenThousandDevicesIsWhole) {
  constexpr int kAttached = 10'000 / kTimesFewer;
  for (int i = 0; i < kAttached; ++i) attach_large(i, "box");
  const auto table = render_devices({server_->endpoint(), nullptr}, "", "", TextFormat::kTable);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->devices, static_cast<size_t>(kAttached));
  EXPECT_EQ(std::ranges::count(table->text, '\n'), kAttached + 1);
  const auto odd = render_devices({server_->endpoint(), nullptr}, "", "room=odd", TextFormat::kTable);
  ASSERT_TRUE(odd.ok()) << odd.status();
  EXPECT_EQ(std::ranges::count(odd->text, '\n'), kAttached / 2 + 1);
}

TEST_F(ListingTest, GoldenSamplesComeWhenTheyAreAskedFor) {
  constexpr int kAttached = 300 / kTimesFewer;
  for (int i = 0; i < kAttached; ++i) attach_large(i, "box", 64);
  pb::ListDevicesRequest request;
  request.set_page_size(1);
  EXPECT_EQ(list(request).devices(0).slots(0).golden().samples_size(), 3);
  EXPECT_EQ(list(request).devices(0).slots(0).golden().samples(2).time_ns(), 1'000'063);
  request.set_golden_samples(true);
  EXPECT_EQ(list(request).devices(0).slots(0).golden().samples_size(), 64);
  const auto json = render_devices({server_->endpoint(), nullptr}, "", "", TextFormat::kJson);
  ASSERT_TRUE(json.ok()) << json.status();
  const nlohmann::json devices = nlohmann::json::parse(json->text);
  ASSERT_EQ(devices.size(), static_cast<size_t>(kAttached));
  EXPECT_EQ(devices[kAttached - 1]["slots"][0]["golden"]["samples"].size(), 64u);
}

TEST_F(ListingTest, DeviceIsDrainedOnceNoneOfItsSlotsIsLeased) {
  DeviceInfo two{.id = "d", .key = "box", .slots = {{0, 1, 0}, {1, 1, 0}}, .hello = hello_bytes("d", "box")};
  ASSERT_TRUE(farm_->attach(two, "run", std::make_shared<FakeLink>()).ok());
  farm_->on_unsaved([this] { farm_->save().IgnoreError(); });
  const Lease held = lease();
  const TrackerLink tracker{server_->endpoint(), nullptr};
  const auto table = [&] { return render_devices(tracker, "", "", TextFormat::kTable)->text; };
  const auto leases = [&] { return *set_admission(tracker, "d", Admission::kDraining); };
  EXPECT_EQ(leases(), std::optional<uint32_t>(1));
  EXPECT_THAT(table(), testing::HasSubstr("leased, draining"));
  EXPECT_THAT(table(), testing::HasSubstr("idle, draining"));
  EXPECT_EQ(farm_->counts().devices.at("draining"), 1u);
  farm_->release(held.id, held.epoch);
  EXPECT_EQ(leases(), std::optional<uint32_t>(0));
  EXPECT_THAT(table(), testing::Not(testing::HasSubstr("draining")));
  EXPECT_THAT(table(), testing::HasSubstr("idle, drained"));
  EXPECT_EQ(farm_->counts().devices.at("drained"), 1u);
}

TEST_F(ListingTest, DeviceThatIsAwayTellsWhenItsLeaseEnds) {
  farm_->on_unsaved([this] { farm_->save().IgnoreError(); });
  const auto session = attach("d");
  lease();
  farm_->detach(session);
  clock_.advance(absl::Seconds(12));
  const TrackerLink tracker{server_->endpoint(), nullptr};
  const auto table = [&] { return render_devices(tracker, "", "", TextFormat::kTable)->text; };
  EXPECT_THAT(table(), testing::ContainsRegex("away, lease ends in 18s +12s +h +h +- +12s +18s"));
  const auto listed = [&] {
    return nlohmann::json::parse(render_devices(tracker, "", "", TextFormat::kJson)->text)[0];
  };
  EXPECT_EQ(listed()["slots"][0]["state"], "away") << "scripts compare it";
  EXPECT_EQ(listed()["leases_end_in_ms"], 18'000);
  clock_.advance(absl::Seconds(18));
  farm_->tick();
  EXPECT_FALSE(listed().contains("leases_end_in_ms"));
  EXPECT_THAT(table(), testing::Not(testing::HasSubstr("lease ends")));
  EXPECT_THAT(table(), testing::HasSubstr("away"));
}

TEST_F(ListingTest, LeaseTellsWhatItIsForIfItsTunerSaysThat) {
  farm_->on_unsaved([this] { farm_->save().IgnoreError(); });
  attach("d");
  attach("e");
  acquire({.key = "box", .holder = "h", .holder_run = "r", .purpose = "job 54 (squeezenet.onnx)"});
  acquire("box");  // by a tuner from before
  const TrackerLink tracker{server_->endpoint(), nullptr};
  EXPECT_THAT(render_devices(tracker, "", "", TextFormat::kTable)->text,
              testing::HasSubstr("job 54 (squeezenet.onnx)"));
  const auto listed = nlohmann::json::parse(render_devices(tracker, "", "", TextFormat::kJson)->text);
  std::vector<std::string> purposes;
  for (const auto& device : listed) purposes.push_back(device["slots"][0]["lease"]["purpose"]);
  EXPECT_THAT(purposes, testing::UnorderedElementsAre("job 54 (squeezenet.onnx)", ""));
}

TEST_F(ListingTest, QuarantinedDeviceIsListedWithItsDuration) {
  pb::ListDevicesReply devices;
  pb::Device& device = *devices.add_devices();
  device.set_health(pb::HEALTH_QUARANTINED);
  device.set_online(true);
  device.add_slots();
  EXPECT_THAT(devices_table(devices), testing::HasSubstr("idle, quarantined ")) << "a tracker of before";
  device.set_health_since_ms(725'000);
  EXPECT_THAT(devices_table(devices), testing::HasSubstr("idle, quarantined for 12m5s"));
  const auto listed = nlohmann::json::parse(devices_json(devices))[0];
  EXPECT_EQ(listed["health_since_ms"], 725'000);
  EXPECT_EQ(listed["slots"][0]["state"], "idle, quarantined") << "scripts compare it";
}

TEST_F(ListingTest, PagesAreOfTheSizeAskedForAndAfterTheLastOneThereIsNone) {
  for (int i = 0; i < 5; ++i) attach_large(i, "box");
  pb::ListDevicesRequest request;
  request.set_page_size(2);
  std::vector<int> sizes;
  std::vector<std::string> ids;
  do {
    const pb::ListDevicesReply page = list(request);
    sizes.push_back(page.devices_size());
    for (const pb::Device& device : page.devices()) ids.push_back(device.device_id());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && sizes.size() < 10);
  EXPECT_THAT(sizes, testing::ElementsAre(2, 2, 1));
  EXPECT_THAT(ids, testing::ElementsAre("d100000", "d100001", "d100002", "d100003", "d100004"));
}

// More than fits into a message, whoever is asked.
TEST_F(ListingTest, OfTenThousandWhoWaitIsWhole) {
  constexpr int kRequesters = 10'000 / kTimesFewer;
  const std::string key(128, 'k');
  farm_->detach(attach_large(0, key));
  std::vector<std::shared_ptr<FakeRequester>> requesters;
  for (int i = 0; i < kRequesters; ++i) {
    requesters.push_back(std::make_shared<FakeRequester>());
    const std::string holder = std::string(195, 'h') + std::to_string(10'000 + i);
    farm_->acquire({.key = key, .wait = absl::Minutes(5), .holder = holder, .user = holder},
                   requesters.back());
  }
  const auto text = render_waiting({server_->endpoint(), nullptr}, TextFormat::kJson);
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json json = nlohmann::json::parse(*text);
  ASSERT_EQ(json["requests"].size(), static_cast<size_t>(kRequesters));
  ASSERT_EQ(json["users"].size(), static_cast<size_t>(kRequesters));
  for (int i = 0; i < kRequesters; ++i) {
    ASSERT_TRUE(json["requests"][i].value("holder", "").ends_with(std::to_string(10'000 + i)));
    ASSERT_TRUE(json["users"][i].value("user", "").ends_with(std::to_string(10'000 + i)));
  }
}

TEST_F(ListingTest, WhoWaitsIsListedOnceThoughThoseBeforeItAreServedMeanwhile) {
  attach("a");
  farm_->on_unsaved([this] { farm_->save().IgnoreError(); });
  const Lease held = lease();
  std::vector<std::shared_ptr<FakeRequester>> requesters;
  for (const char* holder : {"a", "b", "c", "d", "e"}) {
    requesters.push_back(acquire("box", absl::Minutes(5), holder));
    clock_.advance(absl::Seconds(1));
  }
  pb::ListWaitingRequest request;
  request.set_page_size(2);
  std::vector<std::string> holders, users;
  do {
    grpc::ClientContext context;
    pb::ListWaitingReply page;
    ASSERT_TRUE(stub_->ListWaiting(&context, request, &page).ok());
    EXPECT_LE(page.requests_size(), 2);
    EXPECT_LE(page.users_size(), 2);
    for (const auto& each : page.requests()) holders.push_back(each.holder());
    for (const auto& each : page.users()) users.push_back(each.user());
    if (request.page_token().empty()) farm_->release(held.id, held.epoch);
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && holders.size() < 10);
  EXPECT_THAT(holders, testing::ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(users, testing::ElementsAre("a", "b", "c", "d", "e", "h"));
  grpc::ClientContext context;
  pb::ListWaitingReply page;
  request.set_page_token("2 b");
  EXPECT_EQ(stub_->ListWaiting(&context, request, &page).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ListingTest, OfManyReservationsIsWhole) {
  farm_->on_unsaved([this] { farm_->save().IgnoreError(); });
  constexpr int kReservations = 300;
  std::string selector = "a";
  while (selector.size() < 16'000) selector += ",!" + std::to_string(selector.size()) + std::string(50, 'x');
  const absl::Time now = absl::Now();
  for (int i = 0; i < kReservations; ++i) {
    ASSERT_TRUE(farm_
                    ->reserve({.user = "alice",
                               .device_key = "",
                               .selector = *Selector::parse(selector),
                               .from = now,
                               .until = now + absl::Hours(1)})
                    .ok());
  }
  const auto text = render_reservations({server_->endpoint(), nullptr}, TextFormat::kJson);
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json all = nlohmann::json::parse(*text);
  ASSERT_EQ(all.size(), static_cast<size_t>(kReservations));
  for (int i = 0; i < kReservations; ++i) ASSERT_EQ(all[i].value("id", 0), i + 1);
  pb::ListReservationsRequest request;
  request.set_page_size(20);
  request.set_page_token("290");
  grpc::ClientContext context;
  pb::ListReservationsReply page;
  ASSERT_TRUE(stub_->ListReservations(&context, request, &page).ok());
  EXPECT_EQ(page.reservations_size(), 10);
  EXPECT_EQ(page.next_page_token(), "");
}

TEST_F(ListingTest, OneDeviceThatMeetsTheRequirementsIsFoundAmongThousandsThatDoNot) {
  for (int i = 0; i < 2000; ++i) attach_large(i, i % 100 == 0 ? "pi" : "box");
  attach("z", "box");
  pb::ListDevicesRequest request;
  request.set_device_key("box");
  request.set_page_size(1);
  request.mutable_requirements()->add_cpu_features("avx512feature7");
  EXPECT_EQ(list(request).devices(0).device_id(), "d100001");
  request.mutable_requirements()->set_min_threads(2);
  request.mutable_requirements()->clear_cpu_features();
  EXPECT_EQ(list(request).devices(0).device_id(), "z");
  request.mutable_requirements()->set_min_threads(3);
  EXPECT_EQ(list(request).devices_size(), 0);
  request.set_device_key("pie");
  EXPECT_THAT(list(request).known_keys(), testing::ElementsAre("pi", "box"));
}

}  // namespace
}  // namespace tf::tracker
