// An artifact that never comes to an agent that listens.

#include <grpcpp/grpcpp.h>

#include <future>

#include "base/files/temporary_folder.h"
#include "device_agent/agent/direct_service.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/server.h"
#include "rpc/transfer/artifact_store.h"
#include "tests/support/fake_clock.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;

TEST(StalledUpload, IsEnded) {
  const TemporaryFolder dir = *TemporaryFolder::make();
  rpc::FakeClock clock;
  const auto cache = *rpc::ArtifactStore::open(dir.path(), 1 << 20, 1 << 20, clock);
  const auto service = make_direct_service({}, *cache, clock);
  const auto server = *rpc::Server::start({"127.0.0.1", 0}, {service.get()});
  const auto stub = pb::Tuners::NewStub(rpc::make_channel(server->endpoint()));
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(60));
  pb::UploadArtifactReply reply;
  const auto writer = stub->UploadArtifact(&context, &reply);
  auto finished = std::async(std::launch::async, [&] { return writer->Finish(); });
  while (finished.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready)
    clock.advance(rpc::kTransferGracePeriod);
  const grpc::Status ended = finished.get();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::CANCELLED) << ended.error_message();
}

}  // namespace
}  // namespace tf::agent
