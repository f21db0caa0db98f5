// Streams of the tracker's real services whose peers are there and say nothing.

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <future>
#include <memory>

#include "base/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/artifact_store.h"
#include "rpc/call_pool.h"
#include "rpc/channel.h"
#include "rpc/protocol.h"
#include "rpc/server.h"
#include "tests/unit/tracker/farm_fixture.h"
#include "tracker/services.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

class SilentStreamTest : public FarmTest {
 protected:
  void SetUp() override {
    FarmTest::SetUp();
    agents_ = make_agent_service(*farm_, *artifacts_, transfers_, time_);
    tuners_ = make_tuner_service(*farm_, *artifacts_, transfers_, time_);
    server_ = *rpc::Server::start({"127.0.0.1", 0}, {agents_.get(), tuners_.get()});
    channel_ = rpc::make_channel(server_->endpoint());
  }

  void TearDown() override {
    server_->stop(absl::ZeroDuration());
    transfers_.finish();
    FarmTest::TearDown();
  }

  // How the tracker ends a stream on which nothing is said while time passes.
  template <typename Reply, typename Stream>
  grpc::Status end_of(Stream& stream) {
    auto finished = std::async(std::launch::async, [&] {
      Reply reply;
      while (stream.Read(&reply)) {
      }
      return stream.Finish();
    });
    while (finished.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready)
      time_.advance(rpc::kHelloPatience);
    return finished.get();
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const std::unique_ptr<rpc::ArtifactStore> artifacts_ = *rpc::ArtifactStore::open(dir_.path(), 1 << 20);
  rpc::CallPool transfers_{{.what = "transfers", .threads = 1}};
  rpc::FakeClock time_;
  std::unique_ptr<grpc::Service> agents_, tuners_;
  std::unique_ptr<rpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(SilentStreamTest, OneWithoutAHelloIsEndedAndOneWithAHelloIsNot) {
  grpc::ClientContext greeted, synchronizing, measuring;
  for (grpc::ClientContext* context : {&greeted, &synchronizing, &measuring})
    rpc::set_deadline(*context, absl::Seconds(60));
  const auto agents = pb::Agents::NewStub(channel_);
  const auto agent = agents->Synchronize(&greeted);
  pb::AgentMessage message;
  message.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
  message.mutable_hello()->set_agent_id("a1");
  message.mutable_hello()->set_device_key("box");
  message.mutable_hello()->add_slots()->add_cpus(0);
  ASSERT_TRUE(agent->Write(message));
  pb::TrackerMessage welcome;
  ASSERT_TRUE(agent->Read(&welcome));

  const auto silent_agent = agents->Synchronize(&synchronizing);
  const grpc::Status agent_ended = end_of<pb::TrackerMessage>(*silent_agent);
  EXPECT_EQ(agent_ended.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(agent_ended.error_message(), testing::HasSubstr("nothing came for 20s"));
  const auto silent_tuner = pb::Tuners::NewStub(channel_)->Measure(&measuring);
  const grpc::Status tuner_ended = end_of<pb::MeasureReply>(*silent_tuner);
  EXPECT_EQ(tuner_ended.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(tuner_ended.error_message(), testing::HasSubstr("nothing came for 20s"));

  ASSERT_EQ(farm_->devices().size(), 1u);
  EXPECT_TRUE(farm_->devices()[0].online);
  greeted.TryCancel();
  while (agent->Read(&welcome)) {
  }
  agent->Finish();
}

}  // namespace
}  // namespace tf::tracker
