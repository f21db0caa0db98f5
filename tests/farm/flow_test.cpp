// Peers that send and do not read, at message level: the tracker holds little of them and goes on for the
// others.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/flow_limits.h"
#include "rpc/protocol.h"
#include "tracker/daemon.h"

namespace tf::farm_test {
namespace {

namespace pb = tunefarm::farm::v1;

class FlowTest : public testing::Test {
 protected:
  void SetUp() override {
    auto daemon =
        tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir_.path() + "/tracker.db"});
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
    agent_channel_ = rpc::make_channel(daemon_->endpoint());
    tuner_channel_ = rpc::make_channel(daemon_->endpoint());
    agent_ = pb::Agents::NewStub(agent_channel_)->Synchronize(&agent_context_);
    pb::AgentMessage message;
    pb::AgentHello& hello = *message.mutable_hello();
    hello.set_protocol_version(rpc::kProtocolVersion);
    hello.set_agent_id("a1");
    hello.set_device_key("box");
    hello.add_slots()->add_cpus(0);
    ASSERT_TRUE(agent_->Write(message));
    pb::TrackerMessage welcome;
    ASSERT_TRUE(agent_->Read(&welcome));
  }

  void TearDown() override {
    agent_context_.TryCancel();
    pb::TrackerMessage message;
    while (agent_->Read(&message)) {
    }
    agent_->Finish();
  }

  pb::LeaseName acquire() {
    grpc::ClientContext context;
    pb::AcquireLeaseRequest request;
    request.set_protocol_version(rpc::kProtocolVersion);
    request.set_device_key("box");
    request.set_wait_ms(5000);
    request.set_holder("h");
    pb::LeaseGrant grant;
    const grpc::Status status = pb::Tuners::NewStub(tuner_channel_)->AcquireLease(&context, request, &grant);
    EXPECT_TRUE(status.ok()) << status.error_message();
    pb::LeaseName name;
    name.set_lease_id(grant.lease_id());
    name.set_epoch(grant.epoch());
    return name;
  }

  pb::Slot slot() {
    grpc::ClientContext context;
    pb::ListDevicesReply devices;
    EXPECT_TRUE(pb::Operators::NewStub(tuner_channel_)
                    ->ListDevices(&context, pb::ListDevicesRequest(), &devices)
                    .ok());
    return devices.devices(0).slots(0);
  }

  using Stream = grpc::ClientReaderWriter<pb::MeasureRequest, pb::MeasureReply>;

  // Opens a Measure stream, then writes trials, each with so much in it, until the stream takes no more.
  static void write_trials(Stream& stream, const pb::LeaseName& lease, size_t bytes,
                           std::atomic<int>& written) {
    pb::MeasureRequest message;
    message.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
    *message.mutable_hello()->mutable_lease() = lease;
    for (uint64_t sequence = 1; stream.Write(message); ++sequence, ++written) {
      message.Clear();
      message.mutable_assignment()->set_sequence(sequence);
      message.mutable_assignment()->mutable_trial()->set_artifact_digest(std::string(bytes, 'x'));
    }
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  std::unique_ptr<tracker::Daemon> daemon_;
  std::shared_ptr<grpc::Channel> agent_channel_, tuner_channel_;
  grpc::ClientContext agent_context_;
  std::unique_ptr<grpc::ClientReaderWriter<pb::AgentMessage, pb::TrackerMessage>> agent_;
};

TEST_F(FlowTest, TunerIsNotReadWhileTheAgentTakesNothing) {
  const pb::LeaseName lease = acquire();
  grpc::ClientContext context;
  const auto stream = pb::Tuners::NewStub(tuner_channel_)->Measure(&context);
  std::atomic<int> written = 0;
  std::thread writing([&] { write_trials(*stream, lease, 100'000, written); });
  // Until nothing moves any more: what is written then waits in sockets and in the tuner.
  for (int before = -1; before != written || written < 10;) {
    before = written;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  const rpc::FlowLimits limits;
  EXPECT_LE(slot().queued(), limits.trial_bytes / 100'000 + 1);
  context.TryCancel();
  writing.join();
  pb::MeasureReply reply;
  while (stream->Read(&reply)) {
  }
  stream->Finish();
}

TEST_F(FlowTest, TunerThatReadsAndAcknowledgesNothingLosesItsLease) {
  const pb::LeaseName lease = acquire();
  grpc::ClientContext context;
  const auto stream = pb::Tuners::NewStub(tuner_channel_)->Measure(&context);
  std::atomic<int> written = 0;
  std::thread writing([&] { write_trials(*stream, lease, 100, written); });
  // The agent answers all that it is given, at length.
  uint64_t answered = 0, most_unacknowledged = 0;
  bool ended = false;
  pb::TrackerMessage message;
  while (!ended && agent_->Read(&message)) {
    for (const pb::DesiredSlot& desired : message.desired().slots()) {
      if (!desired.has_lease() && answered > 0) ended = true;
      pb::AgentMessage report;
      for (const pb::Assignment& assignment : desired.window()) {
        if (assignment.sequence() <= answered) continue;
        answered = assignment.sequence();
        pb::SlotReply& reply = *report.mutable_report()->add_replies();
        *reply.mutable_lease() = lease;
        reply.mutable_reply()->set_sequence(answered);
        reply.mutable_reply()->mutable_result()->set_printed(std::string(60'000, 'p'));
      }
      if (report.has_report()) agent_->Write(report);
    }
    most_unacknowledged = std::max<uint64_t>(most_unacknowledged, slot().unacknowledged());
  }
  EXPECT_TRUE(ended);
  EXPECT_LE(most_unacknowledged, rpc::FlowLimits().reply_bytes / 60'000 + 1 + 4);
  EXPECT_FALSE(slot().has_lease());
  // Why it ended stands behind what was already sent.
  pb::MeasureReply reply;
  while (stream->Read(&reply)) {
  }
  writing.join();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace tf::farm_test
