// Peers that send and do not read, at message level: the tracker holds little of them and goes on for the
// others.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/protocol.h"
#include "rpc/transfer/flow_limits.h"
#include "tests/farm/wait_until.h"
#include "tracker/service/daemon.h"

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
    agent_ = say_hello(agent_context_, "box", 1);
  }

  void TearDown() override { leave(agent_context_, *agent_); }

  using AgentStream = grpc::ClientReaderWriter<pb::AgentMessage, pb::TrackerMessage>;

  // An agent of this name and key that the tracker has welcomed.
  std::unique_ptr<AgentStream> say_hello(grpc::ClientContext& context, const std::string& key,
                                         uint32_t slots) {
    auto stream = pb::Agents::NewStub(agent_channel_)->Synchronize(&context);
    pb::AgentMessage message;
    pb::AgentHello& hello = *message.mutable_hello();
    hello.set_protocol_version(rpc::kProtocolVersion);
    hello.set_agent_id(key);
    hello.set_device_key(key);
    for (uint32_t slot = 0; slot < slots; ++slot) {
      pb::SlotOffer& offer = *hello.add_slots();
      offer.set_slot(slot);
      offer.add_cpus(slot);
    }
    EXPECT_TRUE(stream->Write(message));
    pb::TrackerMessage welcome;
    EXPECT_TRUE(stream->Read(&welcome));
    return stream;
  }

  static void leave(grpc::ClientContext& context, AgentStream& stream) {
    context.TryCancel();
    pb::TrackerMessage message;
    while (stream.Read(&message)) {
    }
    stream.Finish();
  }

  pb::LeaseName acquire(const std::string& key = "box") {
    grpc::ClientContext context;
    pb::AcquireLeaseRequest request;
    request.set_protocol_version(rpc::kProtocolVersion);
    request.set_device_key(key);
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

  pb::Device device(const std::string& key = "box") {
    grpc::ClientContext context;
    pb::ListDevicesRequest request;
    request.set_device_key(key);
    pb::ListDevicesReply devices;
    EXPECT_TRUE(pb::Operators::NewStub(tuner_channel_)->ListDevices(&context, request, &devices).ok());
    return devices.devices(0);
  }

  pb::Slot slot() { return device().slots(0); }

  using Stream = grpc::ClientReaderWriter<pb::MeasureRequest, pb::MeasureReply>;

  // Opens a Measure stream, then writes trials, each with so much in it, until the stream takes no more, or
  // so many.
  static void write_trials(Stream& stream, const pb::LeaseName& lease, size_t bytes,
                           std::atomic<int>& written, uint64_t most = UINT64_MAX) {
    pb::MeasureRequest message;
    message.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
    *message.mutable_hello()->mutable_lease() = lease;
    for (uint64_t sequence = 1; stream.Write(message) && sequence <= most; ++sequence, ++written) {
      message.Clear();
      message.mutable_assignment()->set_sequence(sequence);
      message.mutable_assignment()->mutable_trial()->set_artifact_digest(std::string(bytes, 'x'));
    }
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  std::unique_ptr<tracker::Daemon> daemon_;
  std::shared_ptr<grpc::Channel> agent_channel_, tuner_channel_;
  grpc::ClientContext agent_context_;
  std::unique_ptr<AgentStream> agent_;
};

TEST_F(FlowTest, TunerIsNotReadWhileTheAgentTakesNothing) {
  const pb::LeaseName lease = acquire();
  grpc::ClientContext context;
  const auto stream = pb::Tuners::NewStub(tuner_channel_)->Measure(&context);
  std::atomic<int> written = 0;
  std::thread writing([&] { write_trials(*stream, lease, 50'000, written); });
  // Until nothing moves any more: what is written then waits in sockets and in the tuner.
  for (int before = -1; before != written || written < 10;) {
    before = written;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  const rpc::FlowLimits limits;
  EXPECT_LE(slot().queued(), limits.trial_bytes / 50'000 + 1);
  context.TryCancel();
  writing.join();
  pb::MeasureReply reply;
  while (stream->Read(&reply)) {
  }
  stream->Finish();
}

TEST_F(FlowTest, ATrialThatNoMessageShouldCarryEndsItsStream) {
  grpc::ClientContext context;
  const auto stream = pb::Tuners::NewStub(tuner_channel_)->Measure(&context);
  std::atomic<int> written = 0;
  write_trials(*stream, acquire(), rpc::kMostTrialBytes, written);
  pb::MeasureReply reply;
  while (stream->Read(&reply)) {
  }
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << ended.error_message();
  EXPECT_EQ(slot().queued(), 0u);
}

// Together they take more than a message holds.
TEST_F(FlowTest, AnAgentThatComesBackHearsOfAllItsSlots) {
  constexpr uint32_t kSlots = 20;
  constexpr int kWindow = 4;
  std::vector<pb::LeaseName> leases;
  {
    grpc::ClientContext context;
    const auto agent = say_hello(context, "wide", kSlots);
    for (uint32_t i = 0; i < kSlots; ++i) leases.push_back(acquire("wide"));
    leave(context, *agent);
  }
  std::deque<grpc::ClientContext> contexts;
  std::vector<std::unique_ptr<Stream>> streams;
  std::atomic<int> written = 0;
  for (const pb::LeaseName& lease : leases) {
    streams.push_back(pb::Tuners::NewStub(tuner_channel_)->Measure(&contexts.emplace_back()));
    write_trials(*streams.back(), lease, 60'000, written, kWindow);
  }
  const auto queued = [&] {
    const pb::Device wide = device("wide");
    uint64_t sum = 0;
    for (const pb::Slot& each : wide.slots()) sum += each.queued();
    return sum;
  };
  ASSERT_TRUE(wait_until([&] { return queued() == uint64_t{kSlots} * kWindow; }));
  grpc::ClientContext back;
  const auto agent = say_hello(back, "wide", kSlots);
  std::set<uint32_t> told;
  pb::TrackerMessage message;
  while (told.size() < kSlots && agent->Read(&message)) {
    EXPECT_LT(message.ByteSizeLong(), 2u << 20);
    for (const pb::DesiredSlot& desired : message.desired().slots())
      if (desired.window_size() == kWindow) told.insert(desired.slot());
  }
  EXPECT_EQ(told.size(), kSlots);
  leave(back, *agent);
  for (size_t i = 0; i < streams.size(); ++i) {
    contexts[i].TryCancel();
    pb::MeasureReply reply;
    while (streams[i]->Read(&reply)) {
    }
    streams[i]->Finish();
  }
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
