#include "device_agent/agent/trials/artifact_fetcher.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/files/temporary_folder.h"
#include "device_agent/agent/slots/exclusive_execution.h"
#include "device_agent/agent/slots/slot_runner.h"
#include "device_agent/agent/trials/executor.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/clock.h"
#include "rpc/connection/channel.h"
#include "rpc/connection/server.h"

namespace tf::agent {
namespace {

namespace pb = tunefarm::farm::v1;

constexpr char kWhole[] = "comes as a whole";
constexpr char kTrickling[] = "comes byte by byte";

// Of what trickles it sends a byte now and then, until nobody wants it, or for as long as no test should
// take.
class TricklingTracker final : public pb::Agents::Service {
 public:
  grpc::Status FetchArtifact(grpc::ServerContext* context, const pb::FetchArtifactRequest* request,
                             grpc::ServerWriter<pb::ArtifactChunk>* writer) override {
    pb::ArtifactChunk chunk;
    chunk.set_digest(request->digest());
    if (request->digest() == sha256(kWhole).hex()) {
      chunk.set_size_bytes(sizeof kWhole - 1);
      chunk.set_content(kWhole);
      writer->Write(chunk);
      return grpc::Status::OK;
    }
    chunk.set_size_bytes(rpc::kMaxArtifactBytes);
    chunk.set_content("x");
    constexpr int kMost = 2000;
    int sent = 0;
    for (; sent < kMost && !context->IsCancelled() && writer->Write(chunk); ++sent) {
      trickles = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (sent < kMost) ++unwanted;
    return {grpc::StatusCode::UNAVAILABLE, "so much for that"};
  }

  std::atomic<bool> trickles = false;
  std::atomic<int> unwanted = 0;  // so many it could not send to the end
};

class ArtifactFetcherTest : public testing::Test {
 protected:
  void wait_until_it_trickles() {
    for (int i = 0; i < 2000 && !tracker_.trickles; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_TRUE(tracker_.trickles);
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  TricklingTracker tracker_;
  const std::unique_ptr<rpc::Server> server_ = *rpc::Server::start({"127.0.0.1", 0}, {&tracker_});
  ArtifactFetcher fetcher_{rpc::make_channel(server_->endpoint()),
                           *rpc::ArtifactStore::open(dir_.path(), 1 << 20)};
};

TEST_F(ArtifactFetcherTest, KeepsWhatComes) {
  EXPECT_EQ(*fetcher_.get(sha256(kWhole).hex()), kWhole);
  EXPECT_TRUE(fetcher_.cache().contains(sha256(kWhole)));
}

TEST_F(ArtifactFetcherTest, EndsWhatMovesButIsNotWantedAnyMore) {
  std::stop_source end;
  std::thread getting([&] {
    const absl::Status got = fetcher_.get(sha256(kTrickling).hex(), end.get_token()).status();
    EXPECT_TRUE(absl::IsCancelled(got)) << got;
  });
  wait_until_it_trickles();
  end.request_stop();
  getting.join();
}

TEST_F(ArtifactFetcherTest, TakesNoMoreMemoryThanTransfersMayTogether) {
  {
    auto others = fetcher_.cache().transfers().begin([] {});
    ASSERT_TRUE(others.take(rpc::ArtifactStore::kMostMemoryBytes).ok());
    const absl::Status refused = fetcher_.get(sha256(kWhole).hex()).status();
    EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  }
  EXPECT_TRUE(fetcher_.get(sha256(kWhole).hex()).ok());
  EXPECT_EQ(fetcher_.cache().transfers().taken_bytes(), 0u);
}

// Runs nothing.
class IdleExecutor final : public TrialExecutor {
 public:
  absl::Status begin_lease(std::string_view) override { return absl::OkStatus(); }
  absl::StatusOr<pb::TrialResult> run(const pb::Trial&, std::string_view, std::string_view,
                                      std::stop_token) override {
    return absl::CancelledError("idle");
  }
  bool has_reference(std::string_view, uint64_t) const override { return false; }
};

// A slot that fetches ahead: it begins no trial itself.
class FetchingAheadTest : public ArtifactFetcherTest {
 protected:
  FetchingAheadTest() {
    slot_.drain();
    slot_.start([] {});
  }

  Desired lease(absl::Duration remaining) {
    pb::Trial trial;
    trial.set_artifact_digest(sha256(kTrickling).hex());
    return {.lease = LeaseRef{"L", 1},
            .remaining = remaining,
            .window = {{1, trial.SerializeAsString()}},
            .acknowledged = {}};
  }

  bool is_unwanted() {
    for (int i = 0; i < 2000 && tracker_.unwanted == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return tracker_.unwanted > 0;
  }

  IdleExecutor executor_;
  ExclusiveExecution exclusive_execution_;
  SlotRunner slot_{{},
                   SlotState(rpc::real_clock(), {}, [](const LeaseRef&) { return absl::OkStatus(); }),
                   {.fetcher = fetcher_, .executor = executor_, .exclusive_execution = exclusive_execution_},
                   nullptr};
};

TEST_F(FetchingAheadTest, ASlotThatStopsDoesNotWaitForIt) {
  ASSERT_TRUE(slot_.apply(lease(absl::Minutes(10))).ok());
  wait_until_it_trickles();
  const rpc::Instant began = rpc::real_clock().now();
  slot_.stop();
  EXPECT_LT(rpc::real_clock().now() - began, absl::Seconds(5));
}

TEST_F(FetchingAheadTest, EndsWithItsLease) {
  ASSERT_TRUE(slot_.apply(lease(absl::Minutes(10))).ok());
  wait_until_it_trickles();
  ASSERT_TRUE(slot_.apply({}).ok());
  EXPECT_TRUE(is_unwanted());
}

TEST_F(FetchingAheadTest, EndsWithTheTimeOfItsLeaseAndBeginsAgainIfThatGoesOn) {
  ASSERT_TRUE(slot_.apply(lease(absl::Seconds(2))).ok());
  wait_until_it_trickles();
  EXPECT_TRUE(is_unwanted());
  tracker_.trickles = false;
  ASSERT_TRUE(slot_.apply(lease(absl::Minutes(10))).ok());
  wait_until_it_trickles();
}

TEST_F(FetchingAheadTest, LeavesToOthersWhatTheyWaitForAndItHasBegun) {
  ASSERT_TRUE(slot_.apply(lease(absl::Minutes(10))).ok());
  wait_until_it_trickles();
  std::stop_source end;
  std::thread getting([&] {
    const absl::Status got = fetcher_.get(sha256(kTrickling).hex(), end.get_token()).status();
    EXPECT_TRUE(absl::IsCancelled(got)) << got;
  });
  tracker_.trickles = false;
  ASSERT_TRUE(slot_.apply({}).ok());
  EXPECT_TRUE(is_unwanted());
  tracker_.trickles = false;  // what it sent before it noticed
  wait_until_it_trickles();
  end.request_stop();
  getting.join();
}

}  // namespace
}  // namespace tf::agent
