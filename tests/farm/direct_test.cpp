// Trials and artifacts straight to the agent, and what happens when that way ends.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/digest.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/clock.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/protocol.h"
#include "rpc/transfer/artifact_store.h"
#include "tests/farm/agent_thread.h"
#include "tests/farm/harness.h"
#include "tests/farm/tcp_proxy.h"
#include "tests/farm/wait_until.h"
#include "tracker/operators/operator_client.h"
#include "tracker/service/daemon.h"

namespace tf::farm_test {
namespace {

namespace pb = tunefarm::farm::v1;
using measure::FarmRunner;
using pb::Trial;
using pb::TrialResult;

class DirectTest : public testing::Test {
 protected:
  void SetUp() override {
    auto daemon =
        tracker::Daemon::start({.listen = {"127.0.0.1", 0}, .state_path = dir_.path() + "/tracker.db"});
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    daemon_ = *std::move(daemon);
  }

  agent::AgentOptions listening(const std::string& advertise = "") {
    return {.tracker = daemon_->endpoint(),
            .state_dir = dir_.path() + "/a",
            .listen = listen_,
            .advertise = advertise};
  }

  // What the options leave out: the tracker, the key box, how long to wait for it.
  absl::StatusOr<std::unique_ptr<FarmRunner>> connect(measure::FarmRunnerOptions options = {}) {
    options.tracker = daemon_->endpoint();
    options.device_key = "box";
    options.first_wait = absl::Seconds(5);
    for (int i = 0; i < 100; ++i) {
      auto runner = FarmRunner::connect(options);
      if (!absl::IsNotFound(runner.status())) return runner;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return absl::NotFoundError("the agent never registered");
  }

  // A job of many trials from two threads; every result must come once, whatever `after` does on the way.
  void run_job(FarmRunner& runner, int count, const std::function<void(int done)>& after) {
    std::atomic<int> next = 0, done = 0;
    std::mutex mutex;
    std::set<std::tuple<std::string, uint64_t, uint64_t>> names;
    std::set<std::string> candidates;
    const auto work = [&] {
      for (int i = next++; i < count; i = next++) {
        const std::string candidate = "candidate " + std::to_string(i);
        const Trial trial;
        const absl::StatusOr<TrialResult> result = runner.run(request(trial, candidate, "reference"));
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(result->detail(), candidate);
        {
          const std::scoped_lock lock(mutex);
          EXPECT_TRUE(names.emplace(result->lease_id(), result->epoch(), result->sequence()).second);
          EXPECT_TRUE(candidates.insert(candidate).second);
        }
        runner.acknowledge(*result);
        after(++done);
      }
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(candidates.size(), static_cast<size_t>(count));
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const rpc::Endpoint listen_ = free_endpoint();
  std::unique_ptr<tracker::Daemon> daemon_;
};

TEST_F(DirectTest, TrialsAndArtifactsGoStraightToAnAgentThatListens) {
  AgentThread agent(listening());
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_TRUE((*runner)->is_direct());
  run_job(**runner, 40, [](int) {});
  const Trial trial;
  const absl::StatusOr<TrialResult> large = (*runner)->run(request(trial, std::string(5'000'001, 'x')));
  ASSERT_TRUE(large.ok()) << large.status();
  (*runner)->acknowledge(*large);
  EXPECT_TRUE((*runner)->is_direct());
  // The tracker has seen none of it.
  const auto artifacts = rpc::ArtifactStore::open(dir_.path() + "/tracker.db.artifacts", 1 << 30);
  ASSERT_TRUE(artifacts.ok());
  EXPECT_EQ((*artifacts)->size_bytes(), 0u);
}

TEST_F(DirectTest, AnAddressWhereNobodyAnswersMeansThroughTheTracker) {
  AgentThread agent(listening(free_endpoint().text()));
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_FALSE((*runner)->is_direct());
  run_job(**runner, 10, [](int) {});
}

TEST_F(DirectTest, JobGoesOnThroughTheTrackerUnderTheSameLeaseWhenTheWayIsCut) {
  TcpProxy line(listen_);
  AgentThread agent(listening(line.endpoint().text()));
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  EXPECT_TRUE((*runner)->is_direct());
  const std::string lease = (*runner)->leased_device().lease_id;
  run_job(**runner, 60, [&](int done) {
    if (done == 20) line.cut();
  });
  EXPECT_FALSE((*runner)->is_direct());
  EXPECT_EQ((*runner)->leased_device().lease_id, lease);
}

// Long before pings find out that nobody is at the other end.
TEST_F(DirectTest, JobGoesOnThroughTheTrackerWhenTheWayIsSilent) {
  TcpProxy line(listen_);
  AgentThread agent(listening(line.endpoint().text()));
  auto runner = connect({.silence = {.slack = absl::Seconds(1)}});
  ASSERT_TRUE(runner.ok()) << runner.status();
  const std::string lease = (*runner)->leased_device().lease_id;
  const rpc::Instant began = rpc::real_clock().now();
  run_job(**runner, 60, [&](int done) {
    if (done == 20) line.set_silent(true);
  });
  EXPECT_LT(rpc::real_clock().now() - began, absl::Seconds(12));
  EXPECT_FALSE((*runner)->is_direct());
  EXPECT_EQ((*runner)->leased_device().lease_id, lease);
}

TEST_F(DirectTest, TheNextLeaseGoesStraightAgain) {
  AgentThread agent(listening());
  for (int i = 0; i < 2; ++i) {
    auto runner = connect();
    ASSERT_TRUE(runner.ok()) << runner.status();
    EXPECT_TRUE((*runner)->is_direct());
    run_job(**runner, 5, [](int) {});
  }
}

TEST_F(DirectTest, OperatorsSeeWhatPassesTheTrackerBy) {
  AgentThread agent(listening());
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  run_job(**runner, 20, [](int) {});
  EXPECT_TRUE((*runner)->is_direct());
  nlohmann::json lease = nlohmann::json::object();
  // The last acknowledgements are told on their own, within a second.
  const auto all_told = [&] {
    return lease.value("answered", 0) >= 20 && lease.value("unacknowledged", 1) == 0;
  };
  for (int i = 0; i < 500 && !all_told(); ++i) {
    const auto devices = tracker::render_devices({daemon_->endpoint()}, "", "", tracker::TextFormat::kJson);
    ASSERT_TRUE(devices.ok()) << devices.status();
    lease = nlohmann::json::parse(devices->text).at(0).at("slots").at(0).at("lease");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(lease.value("answered", 0), 20) << lease;
  EXPECT_EQ(lease.value("unacknowledged", -1), 0) << lease;
  EXPECT_EQ(lease.value("queued", -1), 0) << lease;
}

TEST_F(DirectTest, LeaseThatTheTrackerEndsEndsTheDirectWayToo) {
  AgentThread agent(listening());
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const std::string lease = (*runner)->leased_device().lease_id;
  run_job(**runner, 40, [&](int done) {
    if (done != 10) return;
    EXPECT_TRUE(tracker::force_release({daemon_->endpoint()}, lease).ok());
  });
  EXPECT_NE((*runner)->leased_device().lease_id, lease);
}

TEST_F(DirectTest, JobGoesOnWhileTheTrackerIsAway) {
  AgentThread agent(listening());
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const rpc::Endpoint endpoint = daemon_->endpoint();
  const std::string lease = (*runner)->leased_device().lease_id;
  run_job(**runner, 60, [&](int done) {
    if (done == 20) daemon_ = nullptr;
  });
  auto again = tracker::Daemon::start({.listen = endpoint, .state_path = dir_.path() + "/tracker.db"});
  ASSERT_TRUE(again.ok()) << again.status();
  daemon_ = *std::move(again);
  run_job(**runner, 5, [](int) {});
  EXPECT_EQ((*runner)->leased_device().lease_id, lease);
}

TEST_F(DirectTest, JobSaysThatTheTrackerIsAwayOnceTheTermIsOverAndGoesOnWhenItIsBack) {
  std::mutex mutex;
  std::vector<std::string> said;
  const auto says = [&](const std::string& what) {
    return wait_until([&] {
      const std::scoped_lock lock(mutex);
      return !said.empty() && said.back() == what;
    });
  };
  AgentThread agent(listening());
  // Long enough that the agent has run what follows before it is over, on a slow machine too.
  auto runner = connect({.term = absl::Seconds(10), .on_wait = [&](const std::string& what) {
                           const std::scoped_lock lock(mutex);
                           said.push_back(what);
                         }});
  ASSERT_TRUE(runner.ok()) << runner.status();
  run_job(**runner, 1, [](int) {});  // from here on the agent knows of the lease
  const rpc::Endpoint endpoint = daemon_->endpoint();
  daemon_ = nullptr;
  run_job(**runner, 5, [](int) {});
  EXPECT_TRUE(says("")) << "the device goes on meanwhile";
  EXPECT_TRUE(says("no tracker answers at " + endpoint.text()));
  EXPECT_TRUE((*runner)->is_direct()) << "nobody else would say so";
  auto again = tracker::Daemon::start({.listen = endpoint, .state_path = dir_.path() + "/tracker.db"});
  ASSERT_TRUE(again.ok()) << again.status();
  daemon_ = *std::move(again);
  EXPECT_TRUE(says(""));
  run_job(**runner, 5, [](int) {});
}

TEST_F(DirectTest, StoppedAgentHandsBackALeaseThatIsServedDirectly) {
  auto agent = std::make_unique<AgentThread>(listening());
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  run_job(**runner, 5, [](int) {});
  agent = nullptr;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    agent = std::make_unique<AgentThread>(listening());
  });
  const Trial trial;
  const absl::StatusOr<TrialResult> result = (*runner)->run(request(trial, "after"));
  later.join();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->epoch(), 1u);
}

TEST_F(DirectTest, ArtifactThatTheAgentHasLostIsSentAgain) {
  AgentThread agent(listening());
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const Trial trial;
  for (const char* what_happens : {"nothing yet", "removed", "damaged"}) {
    for (const auto& file : std::filesystem::directory_iterator(dir_.path() + "/a/artifacts")) {
      if (what_happens == std::string("removed")) std::filesystem::remove(file.path());
      if (what_happens == std::string("damaged")) std::ofstream(file.path()) << "torn";
    }
    const absl::StatusOr<TrialResult> result = (*runner)->run(request(trial, "candidate", "reference"));
    ASSERT_TRUE(result.ok()) << what_happens << ": " << result.status();
    EXPECT_EQ(result->detail(), "candidate");
    (*runner)->acknowledge(*result);
  }
  EXPECT_TRUE((*runner)->is_direct());
}

TEST_F(DirectTest, ArtifactForWhichTheAgentHasNoRoomGoesThroughTheTracker) {
  agent::AgentOptions small = listening();
  small.cache_bytes = 1000;
  AgentThread agent(std::move(small));
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const Trial trial;
  const absl::StatusOr<TrialResult> result = (*runner)->run(request(trial, std::string(5000, 'x')));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->samples(0).total_ns(), 5'000'000);
  (*runner)->acknowledge(*result);
}

// What the agent answers to someone who holds no lease of it, call by call.
class DirectCalls : public DirectTest {
 protected:
  void SetUp() override {
    DirectTest::SetUp();
    agent_ = std::make_unique<AgentThread>(listening());
    stub_ = pb::Tuners::NewStub(rpc::make_channel(*agent_->agent().endpoint()));
  }

  grpc::StatusCode measure(uint32_t version, const std::string& lease, uint64_t epoch) {
    grpc::ClientContext context;
    const auto stream = stub_->Measure(&context);
    pb::MeasureRequest hello;
    hello.mutable_hello()->set_protocol_version(version);
    hello.mutable_hello()->mutable_lease()->set_lease_id(lease);
    hello.mutable_hello()->mutable_lease()->set_epoch(epoch);
    stream->Write(hello);
    stream->WritesDone();
    pb::MeasureReply reply;
    while (stream->Read(&reply)) {
    }
    return stream->Finish().error_code();
  }

  // The hello of the holder of a new lease.
  pb::MeasureRequest acquire() {
    pb::AcquireLeaseRequest ask;
    ask.set_protocol_version(rpc::kProtocolVersion);
    ask.set_device_key("box");
    ask.set_wait_ms(5000);
    ask.set_holder("h");
    pb::LeaseGrant grant;
    const auto tracker = pb::Tuners::NewStub(rpc::make_channel(daemon_->endpoint()));
    for (int i = 0; i < 100 && grant.lease_id().empty(); ++i) {
      grpc::ClientContext context;
      tracker->AcquireLease(&context, ask, &grant);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_EQ(grant.direct_endpoint(), agent_->agent().endpoint()->text());
    pb::MeasureRequest message;
    message.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
    message.mutable_hello()->mutable_lease()->set_lease_id(grant.lease_id());
    message.mutable_hello()->mutable_lease()->set_epoch(grant.epoch());
    return message;
  }

  // How the agent ends a stream that says this.
  grpc::Status end_of_stream(const std::vector<pb::MeasureRequest>& messages) {
    grpc::ClientContext context;
    const auto stream = stub_->Measure(&context);
    for (const pb::MeasureRequest& message : messages) stream->Write(message);
    pb::MeasureReply reply;
    while (stream->Read(&reply)) {
    }
    return stream->Finish();
  }

  std::unique_ptr<AgentThread> agent_;
  std::unique_ptr<pb::Tuners::Stub> stub_;
};

TEST_F(DirectCalls, UnknownLeaseIsServedNothing) {
  auto runner = connect();
  ASSERT_TRUE(runner.ok()) << runner.status();
  const auto& lease = (*runner)->leased_device();
  EXPECT_EQ(measure(rpc::kProtocolVersion, "forged", lease.epoch), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(measure(rpc::kProtocolVersion, lease.lease_id, lease.epoch + 1), grpc::StatusCode::UNAVAILABLE);
  grpc::ClientContext context;
  pb::FindMissingArtifactsRequest request;
  request.add_digests(sha256("x").hex());
  pb::FindMissingArtifactsReply reply;
  EXPECT_EQ(stub_->FindMissingArtifacts(&context, request, &reply).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  grpc::ClientContext uploading;
  pb::UploadArtifactReply uploaded;
  const auto writer = stub_->UploadArtifact(&uploading, &uploaded);
  pb::ArtifactChunk chunk;
  chunk.set_digest(sha256("x").hex());
  chunk.set_size_bytes(1);
  chunk.set_content("x");
  writer->Write(chunk);
  writer->WritesDone();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(DirectCalls, OtherProtocolVersionsAreRefused) {
  EXPECT_EQ(measure(rpc::kProtocolVersion - 1, "l", 1), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(measure(rpc::kProtocolVersion + 1, "l", 1), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(DirectCalls, OnlyTheTrackerGrantsLeases) {
  grpc::ClientContext context;
  pb::AcquireLeaseRequest request;
  request.set_protocol_version(rpc::kProtocolVersion);
  pb::LeaseGrant grant;
  EXPECT_EQ(stub_->AcquireLease(&context, request, &grant).error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(DirectCalls, HolderHearsWhyItsStreamEnds) {
  const pb::MeasureRequest hello = acquire();
  pb::MeasureRequest zero;
  zero.mutable_assignment()->mutable_trial();
  const grpc::Status wrong = end_of_stream({hello, zero});
  EXPECT_EQ(wrong.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << wrong.error_message();
  EXPECT_EQ(wrong.error_message(), "sequences begin at 1");
  const grpc::Status again = end_of_stream({hello});
  EXPECT_EQ(again.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << again.error_message();
  EXPECT_THAT(again.error_message(), testing::HasSubstr("through the tracker"));
}

TEST_F(DirectCalls, ATrialThatNoMessageShouldCarryEndsItsStream) {
  pb::MeasureRequest large;
  large.mutable_assignment()->set_sequence(1);
  large.mutable_assignment()->mutable_trial()->set_artifact_digest(std::string(65'536, 'x'));
  const grpc::Status ended = end_of_stream({acquire(), large});
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << ended.error_message();
  EXPECT_THAT(ended.error_message(), testing::HasSubstr("at most 65536 bytes"));
}

// Malformed trials are answered at once, 256 of them; 256 more wait.
TEST_F(DirectCalls, HolderThatAcknowledgesNothingHearsThatItGoesOnThroughTheTracker) {
  std::vector<pb::MeasureRequest> messages = {acquire()};
  for (uint64_t sequence = 1; sequence <= 600; ++sequence) {
    messages.emplace_back().mutable_assignment()->set_sequence(sequence);
    messages.back().mutable_assignment()->mutable_trial()->set_artifact_digest("x");
  }
  const grpc::Status ended = end_of_stream(messages);
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::ABORTED) << ended.error_message();
  EXPECT_EQ(ended.error_message(), "continue through the tracker");
}

// A holder that sends and never reads: the agent stops reading it, and its slot stops.
TEST_F(DirectCalls, HolderThatReadsNothingStopsItsOwnSlotAndNothingElse) {
  const pb::MeasureRequest hello = acquire();
  grpc::ClientContext context;
  const auto stream = stub_->Measure(&context);
  ASSERT_TRUE(stream->Write(hello));
  // Malformed trials are answered at once: 256 answers, then 256 more trials, then the agent gives the stream
  // up.
  std::atomic<uint64_t> sent = 0;
  std::thread writing([&] {
    pb::MeasureRequest trial;
    while (sent < 100'000) {
      trial.mutable_assignment()->set_sequence(++sent);
      trial.mutable_assignment()->mutable_trial()->set_artifact_digest(std::string(10'000, 'x'));
      if (!stream->Write(trial)) return;
    }
  });
  writing.join();
  EXPECT_LT(sent, 100'000u);
  context.TryCancel();
  pb::MeasureReply reply;
  while (stream->Read(&reply)) {
  }
  stream->Finish();
  agent_->stop();  // does not hang
}

}  // namespace
}  // namespace tf::farm_test
