#include "rpc/stepped_call.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/clock.h"
#include "rpc/server.h"
#include "rpc/transfer.h"

namespace tf::rpc {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr int kChunks = 12;

// Takes so many chunks, each after so long, then the rest never.
class Taker final : public pb::Tuners::Service {
 public:
  grpc::Status UploadArtifact(grpc::ServerContext* context, grpc::ServerReader<pb::ArtifactChunk>* reader,
                              pb::UploadArtifactReply*) override {
    pb::ArtifactChunk chunk;
    for (int taken = 0; taken < takes && reader->Read(&chunk); ++taken)
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
    if (refuses) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "no room"};
    while (takes < kChunks && !context->IsCancelled())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return grpc::Status::OK;
  }

  int takes = 0;
  bool refuses = false;
};

class SteppedCallTest : public testing::Test {
 protected:
  // Chunks as large as those of artifacts.
  absl::Status upload(absl::Duration most) {
    const auto server = Server::start({"127.0.0.1", 0}, {&taker_});
    EXPECT_TRUE(server.ok()) << server.status();
    const auto stub = pb::Tuners::NewStub(make_channel((*server)->endpoint()));
    pb::UploadArtifactReply reply;
    grpc::Status finished;
    SteppedCall call;
    const auto writer = stub->AsyncUploadArtifact(&call.context(), &reply, call.queue(), call.tag());
    bool going = call.step();
    pb::ArtifactChunk chunk;
    chunk.set_content(std::string(kChunkBytes, 'x'));
    for (int i = 0; going && i < kChunks; ++i) {
      writer->Write(chunk, call.tag());
      going = call.step(most);
    }
    if (going) {
      writer->WritesDone(call.tag());
      call.step(most);
    }
    writer->Finish(&finished, call.tag());
    call.step(most * kChunks);  // gRPC has taken what the peer has not
    return call.ended(finished);
  }

  Taker taker_;
};

TEST_F(SteppedCallTest, LastsAsLongAsItMakesProgress) {
  taker_.takes = kChunks;
  const Instant began = real_clock().now();
  constexpr absl::Duration kMost = absl::Seconds(1);
  EXPECT_EQ(upload(kMost), absl::OkStatus());
  EXPECT_GT(real_clock().now() - began, kMost) << "all steps together take longer than one may";
}

TEST_F(SteppedCallTest, EndsWhenItsPeerLivesAndTakesNothingMore) {
  for (const int takes : {0, 3}) {
    taker_.takes = takes;
    const Instant began = real_clock().now();
    const absl::Status status = upload(absl::Milliseconds(200));
    EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
    // Mostly for 2.4s: gRPC has taken all of it. A busy machine may make it wait with one of the chunks.
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("transfer stalled: no progress for "));
    EXPECT_LT(real_clock().now() - began, absl::Seconds(8));
  }
}

TEST_F(SteppedCallTest, TellsWhyItsPeerRefuses) {
  taker_.takes = 2;
  taker_.refuses = true;
  const absl::Status status = upload(absl::Seconds(5));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(status.message(), "no room");
}

}  // namespace
}  // namespace tf::rpc
