#include "tuner/measure/measure_stream.h"

#include <grpcpp/grpcpp.h>

#include "rpc/connection/channel.h"
#include "rpc/connection/server.h"

namespace tf::measure {
namespace {

namespace pb = tunefarm::farm::v1;

// Notes what it hears on its one stream.
class Listener final : public pb::Tuners::Service {
 public:
  grpc::Status Measure(grpc::ServerContext*,
                       grpc::ServerReaderWriter<pb::MeasureReply, pb::MeasureRequest>* stream) override {
    pb::MeasureRequest message;
    while (stream->Read(&message)) heard.push_back(message);
    return grpc::Status::OK;
  }
  std::vector<pb::MeasureRequest> heard;
};

class MeasureStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    stream_.begin(rpc::make_channel(server_->endpoint()));
    stream_.say_hello({.lease_id = "L", .epoch = 7});
  }

  // All that was said.
  const std::vector<pb::MeasureRequest>& heard() {
    stream_.half_close();
    EXPECT_TRUE(stream_.finish().ok());
    return listener_.heard;
  }

  static std::vector<uint64_t> acknowledged(const pb::MeasureRequest& message) {
    const auto& sequences = message.acknowledgement().sequences();
    return {sequences.begin(), sequences.end()};
  }

  Listener listener_;
  const std::unique_ptr<rpc::Server> server_ = *rpc::Server::start({"127.0.0.1", 0}, {&listener_});
  MeasureStream stream_;
};

TEST_F(MeasureStreamTest, SaysHelloTrialsAndWhatIsDurable) {
  pb::Trial trial;
  trial.set_artifact_digest("a");
  stream_.send(1, trial);
  stream_.acknowledge(1);
  ASSERT_EQ(heard().size(), 3u);
  EXPECT_EQ(listener_.heard[0].hello().lease().lease_id(), "L");
  EXPECT_EQ(listener_.heard[0].hello().lease().epoch(), 7u);
  EXPECT_EQ(listener_.heard[1].assignment().trial().artifact_digest(), "a");
  EXPECT_THAT(acknowledged(listener_.heard[2]), testing::ElementsAre(1));
}

TEST_F(MeasureStreamTest, AcknowledgementsThatComeUpDuringAWriteAreOneMessage) {
  std::vector<std::thread> durable;
  {
    const std::scoped_lock writes(stream_.writing);
    for (uint64_t sequence = 1; sequence <= 8; ++sequence)
      durable.emplace_back([this, sequence] { stream_.acknowledge(sequence); });
    while (stream_.unsaid() < 8) std::this_thread::yield();
  }
  for (std::thread& each : durable) each.join();
  stream_.acknowledge(9);
  ASSERT_EQ(heard().size(), 3u);
  EXPECT_THAT(acknowledged(listener_.heard[1]), testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(acknowledged(listener_.heard[2]), testing::ElementsAre(9)) << "and nothing twice";
}

TEST_F(MeasureStreamTest, AcknowledgementsOfAClosedStreamAreLost) {
  stream_.half_close();
  stream_.acknowledge(1);
  EXPECT_EQ(heard().size(), 1u) << "the farm sends that result again on the next stream";
}

}  // namespace
}  // namespace tf::measure
