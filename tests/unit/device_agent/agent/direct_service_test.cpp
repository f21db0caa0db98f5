// Callers of an agent that listens who hold no lease of it: what they get, and for how long.

#include "device_agent/agent/direct_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "base/files/temporary_folder.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/server.h"
#include "rpc/transfer/artifact_store.h"
#include "tests/support/fake_clock.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;

class DirectServiceTest : public testing::Test {
 protected:
  grpc::Status find_missing() {
    grpc::ClientContext context;
    rpc::set_deadline(context, absl::Seconds(60));
    pb::FindMissingArtifactsRequest request;
    request.mutable_lease()->set_lease_id("made up");
    pb::FindMissingArtifactsReply reply;
    return stub_->FindMissingArtifacts(&context, request, &reply);
  }

  static bool is_there(const std::future<grpc::Status>& call) {
    return call.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  rpc::FakeClock clock_;
  const std::unique_ptr<rpc::ArtifactStore> cache_ =
      *rpc::ArtifactStore::open(dir_.path(), 1 << 20, 1 << 20, clock_);
  const std::unique_ptr<grpc::Service> service_ = make_direct_service({}, *cache_, clock_);
  const std::unique_ptr<rpc::Server> server_ = *rpc::Server::start({"127.0.0.1", 0}, {service_.get()});
  const std::unique_ptr<pb::Tuners::Stub> stub_ = pb::Tuners::NewStub(rpc::make_channel(server_->endpoint()));
};

TEST_F(DirectServiceTest, AStreamThatSaysNoHelloIsEnded) {
  grpc::ClientContext context;
  rpc::set_deadline(context, absl::Seconds(60));
  const auto stream = stub_->Measure(&context);
  auto finished = std::async(std::launch::async, [&] {
    pb::MeasureReply reply;
    while (stream->Read(&reply)) {
    }
    return stream->Finish();
  });
  while (finished.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready)
    clock_.advance(rpc::kHelloGracePeriod);
  const grpc::Status ended = finished.get();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::CANCELLED) << ended.error_message();
}

// The clock stands: whoever waits does so for ever.
TEST_F(DirectServiceTest, OfThoseWhoNameALeaseThatNobodyKnowsFewWait) {
  constexpr int kCalls = 40, kWaiting = 32;
  std::vector<std::future<grpc::Status>> calls;
  for (int i = 0; i < kCalls; ++i)
    calls.push_back(std::async(std::launch::async, [this] { return find_missing(); }));
  const auto there = [&] { return std::ranges::count_if(calls, is_there); };
  for (int i = 0; i < 3000 && there() < kCalls - kWaiting; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(there(), kCalls - kWaiting);
  clock_.advance(absl::Seconds(1));
  for (std::future<grpc::Status>& call : calls)
    EXPECT_EQ(call.get().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace tf::agent
