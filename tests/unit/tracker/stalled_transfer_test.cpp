// Artifacts that never come, or that nobody takes, through the tracker's real services.

#include <grpcpp/grpcpp.h>

#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/server.h"
#include "rpc/transfer/artifact_store.h"
#include "tests/unit/tracker/served_farm_fixture.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr int kChunks = 64;

// In time.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return condition();
}

class StalledTransferTest : public ServedFarmTest {
 protected:
  void SetUp() override {
    ServedFarmTest::SetUp();
    // Takes no more ahead than it has to: else gRPC takes much by itself of what nobody reads.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    agent_ = pb::Agents::NewStub(
        grpc::CreateCustomChannel(server_->endpoint().text(), grpc::InsecureChannelCredentials(), arguments));
    ASSERT_TRUE(artifacts_->put(digest_, bytes_).ok());
  }

  std::unique_ptr<grpc::ClientReader<pb::ArtifactChunk>> fetch(grpc::ClientContext& context) {
    rpc::set_deadline(context, absl::Minutes(5));
    pb::FetchArtifactRequest request;
    request.set_digest(digest_.hex());
    return agent_->FetchArtifact(&context, request);
  }

  // Of the largest artifact that there may be, which never comes as a whole.
  static pb::ArtifactChunk first_chunk() {
    pb::ArtifactChunk chunk;
    chunk.set_digest(sha256("never").hex());
    chunk.set_size_bytes(rpc::kMaxArtifactBytes);
    return chunk;
  }

  // An answer after which the tracker has heard what was said before.
  void describe() {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(60));
    pb::Description reply;
    EXPECT_TRUE(agent_->Describe(&context, {}, &reply).ok());
  }

  // Whoever reads it finds out, and removes it.
  void damage() { std::ofstream(dir_.file(digest_.hex())) << "torn"; }

  const std::string bytes_ = std::string(kChunks * rpc::kChunkBytes, 'x');
  const Digest digest_ = sha256(bytes_);
  std::unique_ptr<pb::Agents::Stub> agent_;
};

TEST_F(StalledTransferTest, AnUploadIsEndedAndHoldsNothingAnyMore) {
  const auto stub = pb::Tuners::NewStub(rpc::make_channel(server_->endpoint()));
  for (const bool sends_something : {false, true}) {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(60));
    pb::UploadArtifactReply reply;
    const auto writer = stub->UploadArtifact(&context, &reply);
    if (sends_something) {
      writer->Write(first_chunk());
      EXPECT_TRUE(
          comes_true([&] { return artifacts_->transfers().taken_bytes() == rpc::kMaxArtifactBytes; }));
    }
    auto finished = std::async(std::launch::async, [&] { return writer->Finish(); });
    while (finished.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready)
      time_.advance(rpc::kTransferGracePeriod);
    const grpc::Status ended = finished.get();
    EXPECT_EQ(ended.error_code(), grpc::StatusCode::CANCELLED) << ended.error_message();
  }
  EXPECT_TRUE(comes_true([&] { return artifacts_->transfers().taken_bytes() == 0; }));
}

TEST_F(StalledTransferTest, ADownloadOfWhichNothingIsTakenIsEndedAndHoldsNothingAnyMore) {
  grpc::ClientContext context;
  const auto reader = fetch(context);
  EXPECT_TRUE(comes_true([&] { return artifacts_->transfers().taken_bytes() == bytes_.size(); }));
  EXPECT_TRUE(comes_true([&] {
    time_.advance(rpc::kTransferGracePeriod);
    return artifacts_->transfers().taken_bytes() == 0;
  }));
  pb::ArtifactChunk chunk;
  int chunks = 0;
  while (reader->Read(&chunk)) ++chunks;
  EXPECT_LT(chunks, kChunks);
  const grpc::Status ended = reader->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::CANCELLED) << ended.error_message();
}

TEST_F(StalledTransferTest, ADownloadMayTakeLongAsLongAsSomethingOfItIsTaken) {
  grpc::ClientContext context;
  const auto reader = fetch(context);
  pb::ArtifactChunk chunk;
  std::string came;
  while (reader->Read(&chunk)) {
    came += chunk.content();
    time_.advance(rpc::kTransferGracePeriod / 32);               // the tracker may be some chunks ahead
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // in which it looks at its clock
  }
  const grpc::Status ended = reader->Finish();
  EXPECT_TRUE(ended.ok()) << ended.error_message();
  EXPECT_EQ(came, bytes_);
}

TEST_F(StalledTransferTest, AnUploadOfAByteNowAndThenIsEnded) {
  const auto stub = pb::Tuners::NewStub(rpc::make_channel(server_->endpoint()));
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(60));
  pb::UploadArtifactReply reply;
  const auto writer = stub->UploadArtifact(&context, &reply);
  pb::ArtifactChunk chunk = first_chunk();
  chunk.set_content("x");
  ASSERT_TRUE(writer->Write(chunk));
  ASSERT_TRUE(comes_true([&] { return artifacts_->transfers().taken_bytes() > 0; })) << "a byte has moved";
  while (writer->Write(chunk)) {
    time_.advance(rpc::kTransferGracePeriod / 16);  // so that it never stalls
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_THAT(writer->Finish().error_message(), testing::HasSubstr(" bytes moved in "));
  EXPECT_TRUE(comes_true([&] { return artifacts_->transfers().taken_bytes() == 0; }));
}

TEST_F(StalledTransferTest, ADownloadOfWhichTooLittleIsTakenIsEnded) {
  grpc::ClientContext context;
  const auto reader = fetch(context);
  pb::ArtifactChunk chunk;
  int chunks = 0;
  while (reader->Read(&chunk)) {
    ++chunks;
    time_.advance(rpc::kTransferGracePeriod / 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(chunks, kChunks);
  EXPECT_FALSE(reader->Finish().ok());
  EXPECT_TRUE(comes_true([&] { return artifacts_->transfers().taken_bytes() == 0; }));
}

// On a slow disk a caller may have asked again before its turn comes.
TEST_F(StalledTransferTest, ADownloadWhoseCallerHasGoneBeforeItsTurnIsNotRead) {
  bool is_read = true;
  for (int wait_ms = 10; is_read && wait_ms <= 1000; wait_ms *= 10) {
    ASSERT_TRUE(artifacts_->put(digest_, bytes_).ok());
    damage();
    std::promise<void> let_go, done;
    ASSERT_TRUE(transfers_.run([&] { let_go.get_future().wait(); }).ok());
    grpc::ClientContext context;
    const auto reader = fetch(context);
    describe();
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
    describe();
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));  // for gRPC to tell of it
    ASSERT_TRUE(transfers_.run([&] { done.set_value(); }).ok());
    let_go.set_value();
    done.get_future().wait();
    is_read = !artifacts_->contains(digest_);
  }
  EXPECT_FALSE(is_read);
}

TEST_F(StalledTransferTest, ADownloadForWhichThereIsNoMemoryIsNotRead) {
  damage();
  auto others = artifacts_->transfers().begin([] {});
  ASSERT_TRUE(others.take(rpc::ArtifactStore::kMostMemoryBytes - 1).ok());
  grpc::ClientContext context;
  const auto reader = fetch(context);
  pb::ArtifactChunk chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  const grpc::Status ended = reader->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE) << ended.error_message();
  EXPECT_TRUE(artifacts_->contains(digest_));
}

}  // namespace
}  // namespace tf::tracker
