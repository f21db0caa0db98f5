// Peers of the protocol's version before and after ours, at message level: one clear refusal, and no second
// try.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/server.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/harness.h"
#include "tracker/service/daemon.h"

namespace tf::farm_test {
namespace {

namespace pb = tunefarm::farm::v1;

class VersionTest : public testing::TestWithParam<int> {
 protected:
  uint32_t theirs() const { return rpc::kProtocolVersion + static_cast<uint32_t>(GetParam()); }

  void expect_refusal(const std::string& message) const {
    EXPECT_NE(message.find("version " + std::to_string(theirs())), std::string::npos) << message;
    EXPECT_NE(message.find("version " + std::to_string(rpc::kProtocolVersion)), std::string::npos) << message;
    EXPECT_NE(message.find("upgrade the older"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
};

// Speaks another version, to whoever comes.
class OtherTracker final : public pb::Agents::Service {
 public:
  explicit OtherTracker(uint32_t version) : version_(version) {}
  grpc::Status Synchronize(grpc::ServerContext*,
                           grpc::ServerReaderWriter<pb::TrackerMessage, pb::AgentMessage>* stream) override {
    ++streams;
    pb::AgentMessage hello;
    if (!stream->Read(&hello)) return grpc::Status::OK;
    pb::TrackerMessage welcome;
    welcome.mutable_hello()->set_protocol_version(version_);
    stream->Write(welcome);
    while (stream->Read(&hello)) {
    }
    return grpc::Status::OK;
  }
  std::atomic<int> streams = 0;

 private:
  const uint32_t version_;
};

TEST_P(VersionTest, AgentEndsAtATrackerOfAnotherVersionAfterOneStream) {
  OtherTracker tracker(theirs());
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  AgentThread agent({.tracker = (*server)->endpoint(), .state_dir = dir_.path() + "/a"});
  const absl::Status ended = agent.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(ended)) << ended;
  expect_refusal(std::string(ended.message()));
  EXPECT_EQ(tracker.streams, 1);
}

class VersionAtTracker : public VersionTest {
 protected:
  void SetUp() override {
    auto daemon =
        tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir_.path() + "/tracker.db"});
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
    channel_ = rpc::make_channel(daemon_->endpoint());
  }
  std::unique_ptr<tracker::Daemon> daemon_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_P(VersionAtTracker, AgentOfAnotherVersionIsRefusedAndNotRegistered) {
  grpc::ClientContext context;
  const auto stream = pb::Agents::NewStub(channel_)->Synchronize(&context);
  pb::AgentMessage message;
  pb::AgentHello& hello = *message.mutable_hello();
  hello.set_protocol_version(theirs());
  hello.set_agent_id("other");
  hello.set_device_key("box");
  hello.add_slots()->add_cpus(0);
  stream->Write(message);
  pb::TrackerMessage answer;
  EXPECT_FALSE(stream->Read(&answer));
  const grpc::Status refused = stream->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  expect_refusal(refused.error_message());
  grpc::ClientContext listing;
  pb::ListDevicesReply devices;
  ASSERT_TRUE(
      pb::Operators::NewStub(channel_)->ListDevices(&listing, pb::ListDevicesRequest(), &devices).ok());
  EXPECT_EQ(devices.devices_size(), 0);
}

TEST_P(VersionAtTracker, TunerOfAnotherVersionGetsNoLease) {
  grpc::ClientContext context;
  pb::AcquireLeaseRequest request;
  request.set_protocol_version(theirs());
  request.set_device_key("box");
  pb::LeaseGrant grant;
  const grpc::Status refused = pb::Tuners::NewStub(channel_)->AcquireLease(&context, request, &grant);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  expect_refusal(refused.error_message());
}

TEST_P(VersionAtTracker, MeasureStreamOfAnotherVersionIsRefused) {
  grpc::ClientContext context;
  const auto stream = pb::Tuners::NewStub(channel_)->Measure(&context);
  pb::MeasureRequest hello;
  hello.mutable_hello()->set_protocol_version(theirs());
  stream->Write(hello);
  pb::MeasureReply reply;
  EXPECT_FALSE(stream->Read(&reply));
  const grpc::Status refused = stream->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  expect_refusal(refused.error_message());
}

TEST_P(VersionAtTracker, DescribeAnswersWhoeverAsks) {
  grpc::ClientContext context;
  pb::Description description;
  ASSERT_TRUE(pb::Agents::NewStub(channel_)->Describe(&context, pb::DescribeRequest(), &description).ok());
  EXPECT_EQ(description.protocol_version(), rpc::kProtocolVersion);
  EXPECT_GT(description.unix_time_ns(), 0);
}

const auto kAge = [](const auto& each) { return each.param < 0 ? "older" : "newer"; };
INSTANTIATE_TEST_SUITE_P(Peers, VersionTest, testing::Values(-1, 1), kAge);
INSTANTIATE_TEST_SUITE_P(Peers, VersionAtTracker, testing::Values(-1, 1), kAge);

// Refuses a runner for good; FarmRunner must not knock again and again.
class RefusingTuners final : public pb::Tuners::Service {
 public:
  grpc::Status AcquireLease(grpc::ServerContext*, const pb::AcquireLeaseRequest*, pb::LeaseGrant*) override {
    ++calls;
    return {grpc::StatusCode::FAILED_PRECONDITION, "the tuner uses version 2 of the farm's protocol"};
  }
  std::atomic<int> calls = 0;
};

TEST(TunerVersion, RunnerAsksARefusingTrackerOnce) {
  RefusingTuners tracker;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto runner = measure::FarmRunner::connect({.tracker = (*server)->endpoint(), .device_key = "box"});
  EXPECT_TRUE(absl::IsFailedPrecondition(runner.status())) << runner.status();
  EXPECT_EQ(tracker.calls, 1);
}

}  // namespace
}  // namespace tf::farm_test
