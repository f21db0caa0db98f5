// What a tracker hears of trials whose answers pass it by, at message level.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>

#include "base/digest.h"
#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/server.h"
#include "tests/farm/agent_thread.h"

namespace tf::farm_test {
namespace {

namespace pb = tunefarm::farm::v1;

// Leases slot 0 of the agent that comes to someone, and waits for an outcome.
class LeasingTracker final : public pb::Agents::Service {
 public:
  grpc::Status Synchronize(grpc::ServerContext*,
                           grpc::ServerReaderWriter<pb::TrackerMessage, pb::AgentMessage>* stream) override {
    pb::AgentMessage message;
    if (!stream->Read(&message)) return grpc::Status::OK;
    pb::TrackerMessage answer;
    answer.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
    stream->Write(answer);
    pb::DesiredSlot& slot = *answer.mutable_desired()->add_slots();
    slot.mutable_lease()->set_lease_id("L");
    slot.mutable_lease()->set_epoch(1);
    slot.set_remaining_ms(60'000);
    stream->Write(answer);
    while (stream->Read(&message)) {
      if (message.report().outcomes_size() == 0) continue;
      EXPECT_EQ(message.report().replies_size(), 0) << "the answer itself goes to its holder alone";
      heard.set_value(message.report().outcomes(0));
    }
    return grpc::Status::OK;
  }
  std::promise<pb::TrialOutcome> heard;
};

TEST(DirectOutcomes, TheTrackerHearsHowATrialEndedThatWentStraightToTheAgent) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  LeasingTracker tracker;
  const auto server = rpc::Server::start({"127.0.0.1", 0}, {&tracker});
  ASSERT_TRUE(server.ok()) << server.status();
  AgentThread agent({.tracker = (*server)->endpoint(),
                     .state_dir = dir.path() + "/a",
                     .listen = rpc::Endpoint{"127.0.0.1", 0}});
  const auto stub = pb::Tuners::NewStub(rpc::make_channel(*agent.agent().endpoint()));
  grpc::ClientContext context;
  const auto stream = stub->Measure(&context);
  pb::MeasureRequest message;
  message.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
  message.mutable_hello()->mutable_lease()->set_lease_id("L");
  message.mutable_hello()->mutable_lease()->set_epoch(1);
  stream->Write(message);
  message.mutable_assignment()->set_sequence(1);
  pb::Trial& trial = *message.mutable_assignment()->mutable_trial();
  trial.set_artifact_digest("no digest");
  trial.mutable_limits()->set_run_timeout_ns(5);
  stream->Write(message);
  pb::MeasureReply reply;
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_EQ(reply.failure().kind(), pb::FAILURE_KIND_REFUSED);
  auto heard = tracker.heard.get_future();
  ASSERT_EQ(heard.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  const pb::TrialOutcome outcome = heard.get();
  EXPECT_EQ(outcome.lease_id(), "L");
  EXPECT_EQ(outcome.candidate_digest(), "") << "it has none";
  EXPECT_EQ(outcome.failure(), pb::FAILURE_KIND_REFUSED);
  EXPECT_EQ(outcome.run_timeout_ns(), 5);
  message.mutable_acknowledgement()->add_sequences(1);
  stream->Write(message);
  stream->WritesDone();
  while (stream->Read(&reply)) {
  }
  stream->Finish();
  agent.stop();
}

}  // namespace
}  // namespace tf::farm_test
