// An agent before a tracker that says things twice, too late, out of date, and then nothing more.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/clock.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/server.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/wait_until.h"
#include "tracker/service/daemon.h"

namespace tf::farm_test {
namespace {

namespace pb = tunefarm::farm::v1;
using AgentStream = grpc::ServerReaderWriter<pb::TrackerMessage, pb::AgentMessage>;

constexpr const char* kCandidate = "candidate";
constexpr const char* kEndless = "endless: candidate";
constexpr const char* kLoud = "loud: candidate";

absl::Duration now() {
  return rpc::real_clock().now();
}

// What the agent is to do: sequences 1 … trials of a lease. The agent's clock is this process's.
pb::TrackerMessage desired(const std::string& lease, uint64_t epoch, int trials,
                           const std::string& candidate = kCandidate,
                           absl::Duration remaining = absl::Minutes(1), absl::Duration said_at = now()) {
  pb::TrackerMessage message;
  message.mutable_desired()->set_agent_clock_ns(absl::ToInt64Nanoseconds(said_at));
  pb::DesiredSlot& slot = *message.mutable_desired()->add_slots();
  slot.mutable_lease()->set_lease_id(lease);
  slot.mutable_lease()->set_epoch(epoch);
  slot.set_remaining_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(remaining)));
  for (int i = 1; i <= trials; ++i) {
    pb::Assignment& assignment = *slot.add_window();
    assignment.set_sequence(static_cast<uint64_t>(i));
    assignment.mutable_trial()->set_artifact_digest(sha256(candidate).hex());
  }
  return message;
}

// Answers an agent's hello, then does what the test says, once a session. Of the transfers that it is asked
// for, so many never begin.
class ScriptedTracker final : public pb::Agents::Service {
 public:
  ScriptedTracker(std::function<void(AgentStream&)> script, int stalled_transfers, int sessions)
      : script_(std::move(script)), stalled_transfers_(stalled_transfers), sessions_(sessions) {}

  grpc::Status Synchronize(grpc::ServerContext*, AgentStream* stream) override {
    pb::AgentMessage hello;
    if (!stream->Read(&hello) || sessions_ == 0) return {grpc::StatusCode::FAILED_PRECONDITION, "over"};
    EXPECT_GT(hello.clock_ns(), 0);
    pb::TrackerMessage welcome;
    welcome.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
    stream->Write(welcome);
    script_(*stream);
    if (--sessions_ > 0) return {grpc::StatusCode::UNAVAILABLE, "once more"};
    return {grpc::StatusCode::FAILED_PRECONDITION, "the script is over"};
  }

  grpc::Status FetchArtifact(grpc::ServerContext* context, const pb::FetchArtifactRequest* request,
                             grpc::ServerWriter<pb::ArtifactChunk>* writer) override {
    for (const bool stalls = stalled_transfers_-- > 0; stalls && !context->IsCancelled();)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::string bytes = kCandidate;
    for (const char* other : {kEndless, kLoud})
      if (request->digest() == sha256(other).hex()) bytes = other;
    pb::ArtifactChunk chunk;
    chunk.set_digest(sha256(bytes).hex());
    chunk.set_size_bytes(bytes.size());
    chunk.set_content(bytes);
    writer->Write(chunk);
    return grpc::Status::OK;
  }

 private:
  const std::function<void(AgentStream&)> script_;
  std::atomic<int> stalled_transfers_;
  std::atomic<int> sessions_;
};

// An agent's life under a script.
class AgentMessages : public testing::Test {
 protected:
  void live(const std::function<void(AgentStream&)>& script, int stalled_transfers = 0, int sessions = 1) {
    std::atomic<bool> made = false;
    ScriptedTracker tracker(
        [&](AgentStream& stream) {
          while (!made) std::this_thread::yield();
          script(stream);
        },
        stalled_transfers, sessions);
    const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
    ASSERT_TRUE(server.ok()) << server.status();
    agent_.emplace(agent::AgentOptions{.tracker = (*server)->endpoint(), .state_dir = dir_.path() + "/a"});
    made = true;
    agent_->join().IgnoreError();  // the script's refusal
  }

  const FakeExecutor& executor() const { return agent_->executor(); }

  static pb::SlotReply next_reply(AgentStream& stream) {
    pb::AgentMessage message;
    while (stream.Read(&message)) {
      if (message.report().replies_size() > 0) return message.report().replies(0);
    }
    ADD_FAILURE() << "the agent went away";
    return {};
  }

  static void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }

 private:
  const TemporaryFolder dir_ = *TemporaryFolder::make();
  std::optional<AgentThread> agent_;
};

TEST_F(AgentMessages, ATrialThatIsAskedForTwiceRunsOnce) {
  live([](AgentStream& stream) {
    for (int i = 0; i < 3; ++i) stream.Write(desired("L", 1, 1));
    EXPECT_EQ(next_reply(stream).reply().sequence(), 1u);
    for (int i = 0; i < 3; ++i) stream.Write(desired("L", 1, 1));
    rest();
  });
  EXPECT_EQ(executor().begun(), 1);
}

TEST_F(AgentMessages, AnArtifactThatDoesNotComeIsAskedForAgainWithinSeconds) {
  live(
      [](AgentStream& stream) {
        const absl::Duration began = now();
        stream.Write(desired("L", 1, 1));
        EXPECT_TRUE(next_reply(stream).reply().has_result());
        EXPECT_LT(now() - began, absl::Seconds(30));
      },
      1);
}

TEST_F(AgentMessages, AnAcknowledgementThatComesTwiceOrForNothingIsHarmless) {
  live([](AgentStream& stream) {
    stream.Write(desired("L", 1, 1));
    next_reply(stream);
    pb::TrackerMessage acknowledged = desired("L", 1, 0);
    for (const uint64_t sequence : {1, 1, 99})
      acknowledged.mutable_desired()->mutable_slots(0)->add_acknowledged(sequence);
    stream.Write(acknowledged);
    stream.Write(acknowledged);
    stream.Write(desired("L", 1, 2));
    pb::SlotReply reply = next_reply(stream);
    if (reply.reply().sequence() == 1)
      reply = next_reply(stream);  // asked for again after it was forgotten: run again
    EXPECT_EQ(reply.reply().sequence(), 2u);
  });
  EXPECT_EQ(executor().begun(), 3);
}

TEST_F(AgentMessages, AnOlderLeaseThatComesLateIsRefused) {
  live([](AgentStream& stream) {
    stream.Write(desired("M", 2, 1));
    EXPECT_TRUE(next_reply(stream).reply().has_result());
    stream.Write(desired("L", 1, 1));
    const pb::SlotReply late = next_reply(stream);
    EXPECT_EQ(late.lease().lease_id(), "L");
    EXPECT_EQ(late.reply().failure().kind(), pb::FAILURE_KIND_STALE_EPOCH);
  });
  EXPECT_EQ(executor().begun(), 1);
}

TEST_F(AgentMessages, ALeaseThatRanOutWhileItsMessageWasUnderWayStartsNothing) {
  live([](AgentStream& stream) {
    stream.Write(desired("L", 1, 1, kCandidate, absl::Seconds(3), now() - absl::Seconds(5)));
    pb::AgentMessage message;  // if the tracker's notion of our clock was old, it has a new one
    EXPECT_TRUE(stream.Read(&message));
    EXPECT_GT(message.clock_ns(), 0);
    EXPECT_EQ(message.report().replies_size(), 0);
    rest();
  });
  EXPECT_EQ(executor().begun(), 0);
}

// As after a pause of the virtual machine, in which the agent's clock stood still and the tracker's went on.
TEST_F(AgentMessages, AMessageFromTheFutureEndsTheSessionAndStartsNothing) {
  live([](AgentStream& stream) {
    stream.Write(desired("L", 1, 1, kCandidate, absl::Minutes(1), now() + absl::Seconds(30)));
    pb::AgentMessage message;
    while (stream.Read(&message) && message.report().replies().empty()) continue;
    EXPECT_TRUE(message.report().replies().empty()) << "it went on";
  });
  EXPECT_EQ(executor().begun(), 0);
}

TEST_F(AgentMessages, AMessageFromJustNowIsNoneFromTheFuture) {
  live([](AgentStream& stream) {
    stream.Write(desired("L", 1, 1, kCandidate, absl::Minutes(1), now() + absl::Milliseconds(500)));
    EXPECT_TRUE(next_reply(stream).reply().has_result());
  });
}

TEST_F(AgentMessages, WhatRunsEndsWithItsLeaseThoughTheTrackerSaysNothingMore) {
  live([&](AgentStream& stream) {
    stream.Write(desired("L", 1, 1, kEndless, absl::Seconds(2)));
    EXPECT_TRUE(wait_until([&] { return executor().ended() == 1; }));
    stream.Write(desired("M", 2, 1));
    EXPECT_EQ(next_reply(stream).lease().lease_id(), "M");
  });
}

TEST_F(AgentMessages, WhatRunsEndsWhenItsLeaseIsTakenBackOrAnotherHasTheSlot) {
  live([&](AgentStream& stream) {
    stream.Write(desired("L", 1, 1, kEndless));
    EXPECT_TRUE(wait_until([&] { return executor().begun() == 1; }));
    pb::TrackerMessage nothing;
    nothing.mutable_desired()->add_slots()->set_slot(0);
    stream.Write(nothing);
    EXPECT_TRUE(wait_until([&] { return executor().ended() == 1; }));
    stream.Write(desired("M", 2, 1, kEndless));
    EXPECT_TRUE(wait_until([&] { return executor().begun() == 2; }));
    stream.Write(desired("N", 3, 1));
    EXPECT_EQ(next_reply(stream).lease().lease_id(), "N");
  });
  EXPECT_EQ(executor().ended(), 2);
}

TEST_F(AgentMessages, WhatRunsGoesOnWhileItsLeaseIsRenewed) {
  live([&](AgentStream& stream) {
    stream.Write(desired("L", 1, 1, kEndless, absl::Seconds(2)));
    for (int i = 0; i < 25; ++i) {
      rest();
      stream.Write(desired("L", 1, 1, kEndless, absl::Minutes(1)));
    }
    EXPECT_EQ(executor().begun(), 1);
    EXPECT_EQ(executor().ended(), 0);
  });
}

// What one session is told trial by trial the next is told at once: more than a message holds.
TEST_F(AgentMessages, AllThatIsUnacknowledgedIsToldAgainInMessagesThatFit) {
  constexpr int kTrials = 25;
  std::vector<std::set<uint64_t>> told;  // in each session
  live(
      [&](AgentStream& stream) {
        std::set<uint64_t>& sequences = told.emplace_back();
        if (told.size() == 1) stream.Write(desired("L", 1, kTrials, kLoud));
        pb::AgentMessage message;
        while (sequences.size() < kTrials && stream.Read(&message)) {
          EXPECT_LT(message.ByteSizeLong(), 2u << 20);
          for (const pb::SlotReply& reply : message.report().replies()) {
            EXPECT_EQ(reply.reply().result().printed().size(), 200'000u);
            sequences.insert(reply.reply().sequence());
          }
        }
      },
      0, 2);
  ASSERT_EQ(told.size(), 2u);
  for (const std::set<uint64_t>& sequences : told) EXPECT_EQ(sequences.size(), size_t{kTrials});
  EXPECT_EQ(executor().begun(), kTrials);
}

// A tracker, and an agent's connection to it.
class TrackerMessages : public testing::Test {
 protected:
  static constexpr int64_t kClockNs = 1'000'000'000'000'000;
  static constexpr int64_t kSecondNs = 1'000'000'000;

  // An agent's stream, which has said hello at this time of its clock.
  void hello(int64_t clock_ns) {
    pb::AgentMessage hello;
    hello.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
    hello.mutable_hello()->set_agent_id("a1");
    hello.mutable_hello()->set_device_key("box");
    hello.mutable_hello()->add_slots()->add_cpus(0);
    hello.set_clock_ns(clock_ns);
    pb::TrackerMessage message;
    ASSERT_TRUE(stream_->Write(hello));
    ASSERT_TRUE(stream_->Read(&message) && message.has_hello());
  }

  void report(int64_t clock_ns) {
    pb::AgentMessage report;
    report.mutable_report();
    report.set_clock_ns(clock_ns);
    ASSERT_TRUE(stream_->Write(report));
  }

  int64_t next_clock_ns() {
    pb::TrackerMessage message;
    EXPECT_TRUE(stream_->Read(&message) && message.has_desired());
    return message.desired().agent_clock_ns();
  }

  void SetUp() override {
    rpc::set_deadline(context_, absl::Seconds(30));
    stream_ = stub_->Synchronize(&context_);
  }

  void TearDown() override {
    context_.TryCancel();
    stream_->Finish();
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::unique_ptr<tracker::Daemon> daemon_ =
      *tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir_.path() + "/tracker.db"});
  const std::shared_ptr<grpc::Channel> channel_ = rpc::make_channel(daemon_->endpoint());
  const std::unique_ptr<pb::Agents::Stub> stub_ = pb::Agents::NewStub(channel_);
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<pb::AgentMessage, pb::TrackerMessage>> stream_;
};

TEST_F(TrackerMessages, SayWhatTheAgentsOwnClockShowedAtTheEarliest) {
  hello(kClockNs);
  const int64_t clock_ns = next_clock_ns();
  EXPECT_GE(clock_ns, kClockNs);
  EXPECT_LT(clock_ns, kClockNs + 60 * kSecondNs);
}

TEST_F(TrackerMessages, ComeAgainOnceItIsKnownThatTheHelloWasUnderWayForLong) {
  hello(kClockNs - 600 * kSecondNs);
  EXPECT_LT(next_clock_ns(), kClockNs - 500 * kSecondNs) << "as old as that";
  report(kClockNs);
  EXPECT_GE(next_clock_ns(), kClockNs - kSecondNs) << "and not after the next renewal only";
}

TEST_F(TrackerMessages, ATextThatIsCutStaysReadable) {
  hello(kClockNs);
  pb::AgentMessage report;
  pb::GoldenSample& sample = *report.mutable_report()->add_golden();
  sample.set_kernel(std::string(63, 'k') + "\u00e9");
  sample.set_detail(std::string(199, 'd') + "\u00e9");
  ASSERT_TRUE(stream_->Write(report));
  const auto operators = pb::Operators::NewStub(channel_);
  pb::ListDevicesReply reply;
  const auto listed = [&] {
    grpc::ClientContext asking;
    pb::ListDevicesRequest request;
    request.set_golden_samples(true);
    const grpc::Status status = operators->ListDevices(&asking, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return !status.ok() || (reply.devices_size() == 1 && reply.devices(0).slots(0).has_golden());
  };
  ASSERT_TRUE(wait_until(listed));
  ASSERT_EQ(reply.devices_size(), 1);
  const pb::GoldenSample& shown = reply.devices(0).slots(0).golden().samples(0);
  EXPECT_EQ(shown.kernel(), std::string(63, 'k'));
  EXPECT_EQ(shown.detail(), std::string(199, 'd'));
}

}  // namespace
}  // namespace tf::farm_test
