// Artifacts that never come, through the tracker's real service.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <future>
#include <thread>

#include "base/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/artifact_store.h"
#include "rpc/call_pool.h"
#include "rpc/channel.h"
#include "rpc/server.h"
#include "tests/unit/tracker/farm_fixture.h"
#include "tracker/services.h"

namespace tf::tracker {
namespace {

namespace pb = tunefarm::farm::v1;

class StalledUploadTest : public FarmTest {};

// In time.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return condition();
}

TEST_F(StalledUploadTest, IsEndedAndHoldsNothingAnyMore) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  const auto artifacts = *rpc::ArtifactStore::open(dir.path(), 1 << 20);
  rpc::CallPool transfers({.what = "transfers", .threads = 1});
  rpc::FakeClock clock;
  const auto tuners = make_tuner_service(*farm_, *artifacts, transfers, clock);
  const auto server = *rpc::Server::start({"127.0.0.1", 0}, {tuners.get()});
  const auto stub = pb::Tuners::NewStub(rpc::make_channel(server->endpoint()));
  for (const bool sends_something : {false, true}) {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(60));
    pb::UploadArtifactReply reply;
    const auto writer = stub->UploadArtifact(&context, &reply);
    pb::ArtifactChunk chunk;
    chunk.set_digest(sha256("never").hex());
    chunk.set_size_bytes(rpc::kMaxArtifactBytes);
    if (sends_something) {
      writer->Write(chunk);
      EXPECT_TRUE(comes_true([&] { return artifacts->taken_memory_bytes() == rpc::kMaxArtifactBytes; }));
    }
    auto finished = std::async(std::launch::async, [&] { return writer->Finish(); });
    while (finished.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready)
      clock.advance(rpc::kTransferPatience);
    const grpc::Status ended = finished.get();
    EXPECT_EQ(ended.error_code(), grpc::StatusCode::CANCELLED) << ended.error_message();
  }
  EXPECT_TRUE(comes_true([&] { return artifacts->taken_memory_bytes() == 0; }));
  server->stop(absl::ZeroDuration());
  transfers.finish();
}

}  // namespace
}  // namespace tf::tracker
