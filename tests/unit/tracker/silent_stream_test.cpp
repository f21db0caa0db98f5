// Streams of the tracker's real services whose peers are there and say nothing.

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <future>
#include <memory>

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/protocol.h"
#include "rpc/transfer/transfer_budget.h"
#include "tests/unit/tracker/served_farm_fixture.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

class SilentStreamTest : public ServedFarmTest {
 protected:
  void SetUp() override {
    ServedFarmTest::SetUp();
    channel_ = rpc::make_channel(server_->endpoint());
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
      time_.advance(rpc::kHelloGracePeriod);
    return finished.get();
  }

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
  EXPECT_THAT(agent_ended.error_message(), testing::HasSubstr("no data received for 20s"));
  const auto silent_tuner = pb::Tuners::NewStub(channel_)->Measure(&measuring);
  const grpc::Status tuner_ended = end_of<pb::MeasureReply>(*silent_tuner);
  EXPECT_EQ(tuner_ended.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(tuner_ended.error_message(), testing::HasSubstr("no data received for 20s"));

  ASSERT_EQ(devices_of(*farm_).size(), 1u);
  EXPECT_TRUE(devices_of(*farm_)[0].online);
  greeted.TryCancel();
  while (agent->Read(&welcome)) {
  }
  agent->Finish();
}

}  // namespace
}  // namespace tf::tracker
