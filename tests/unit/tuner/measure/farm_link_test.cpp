#include "tuner/measure/farm_link.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/clock.h"
#include "rpc/connection/server.h"

namespace tf::measure {
namespace {

namespace pb = tunefarm::farm::v1;

// A tracker, or an agent that listens, that notes what is asked of it.
class NotingTracker final : public pb::Tuners::Service {
 public:
  grpc::Status AcquireLease(grpc::ServerContext*, const pb::AcquireLeaseRequest*,
                            pb::LeaseGrant* grant) override {
    note("acquire");
    grant->set_lease_id("L");
    grant->set_direct_endpoint(direct_endpoint);
    return grpc::Status::OK;
  }
  // Holds up "renew", if it is `held`.
  grpc::Status RenewLease(grpc::ServerContext* context, const pb::LeaseName*, pb::LeaseGrant*) override {
    note("renew");
    hold_up("renew", *context);
    return grpc::Status::OK;
  }
  // Holds up the first, if it is `held`.
  grpc::Status ReleaseLease(grpc::ServerContext* context, const pb::LeaseName* lease,
                            pb::ReleaseLeaseReply*) override {
    const std::string what = "release " + lease->lease_id();
    note(what);
    if (std::ranges::count(noted(), what) == 1) hold_up(what, *context);
    return is_deaf ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "deaf") : grpc::Status::OK;
  }
  grpc::Status FindMissingArtifacts(grpc::ServerContext*, const pb::FindMissingArtifactsRequest* request,
                                    pb::FindMissingArtifactsReply* reply) override {
    *reply->mutable_missing() = request->digests();
    return grpc::Status::OK;
  }
  // Holds up those of `held`.
  grpc::Status UploadArtifact(grpc::ServerContext* context, grpc::ServerReader<pb::ArtifactChunk>* reader,
                              pb::UploadArtifactReply*) override {
    pb::ArtifactChunk chunk;
    reader->Read(&chunk);
    note(chunk.digest());
    hold_up(chunk.digest(), *context);
    return grpc::Status::OK;
  }

  std::vector<std::string> noted() {
    const std::scoped_lock lock(mutex_);
    return noted_;
  }
  void wait_for(const std::string& what) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(30), [&] {
      return std::ranges::find(noted_, what) != noted_.end();
    })) << what;
  }
  void let_go() {
    const std::scoped_lock lock(mutex_);
    held.clear();
    changed_.notify_all();
  }

  std::string held;  // a digest, a release or "renew"
  std::string direct_endpoint;
  std::atomic<bool> is_deaf = false;

 private:
  void note(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    noted_.push_back(what);
    changed_.notify_all();
  }

  void hold_up(const std::string& what, const grpc::ServerContext& context) {
    std::unique_lock lock(mutex_);
    while (held == what && !context.IsCancelled()) changed_.wait_for(lock, std::chrono::milliseconds(10));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> noted_;
};

class FarmLinkTest : public testing::Test {
 protected:
  const ArtifactBytes stalled_ = make_artifact_bytes("stalled");
  const ArtifactBytes other_ = make_artifact_bytes("other");
  NotingTracker tracker_;
  const std::unique_ptr<rpc::Server> server_ = *rpc::Server::start({"127.0.0.1", 0}, {&tracker_});
  FarmLink link_{{.tracker = server_->endpoint()}};
};

TEST_F(FarmLinkTest, OneUploadThatStallsHoldsUpNoOther) {
  tracker_.held = stalled_.digest;
  std::thread stalls([&] { EXPECT_EQ(link_.upload(stalled_), absl::OkStatus()); });
  tracker_.wait_for(stalled_.digest);
  EXPECT_EQ(link_.upload(other_), absl::OkStatus());
  tracker_.let_go();
  stalls.join();
}

TEST_F(FarmLinkTest, AnUploadGoesOnThroughTheTrackerOnceItsWayIsLeft) {
  NotingTracker agent;
  const std::unique_ptr<rpc::Server> listens = *rpc::Server::start({"127.0.0.1", 0}, {&agent});
  tracker_.direct_endpoint = listens->endpoint().text();
  ASSERT_TRUE(link_.acquire(absl::Seconds(1)).ok());
  const std::shared_ptr<FarmLink::Route> direct = link_.route();
  ASSERT_TRUE(direct->direct);
  agent.held = stalled_.digest;
  std::thread stalls([&] { EXPECT_EQ(link_.upload(stalled_), absl::OkStatus()); });
  agent.wait_for(stalled_.digest);
  const rpc::Instant began = rpc::real_clock().now();
  link_.leave_route(direct, "it is silent");
  stalls.join();
  EXPECT_LT(rpc::real_clock().now() - began, absl::Seconds(5)) << "and not when the agent is given up";
  EXPECT_THAT(tracker_.noted(), testing::ElementsAre("acquire", stalled_.digest));
}

TEST_F(FarmLinkTest, SaysOfAWayThatHasBrokenWhoWasAtItsEnd) {
  NotingTracker agent;
  const std::unique_ptr<rpc::Server> listens = *rpc::Server::start({"127.0.0.1", 0}, {&agent});
  const grpc::Status broken(grpc::StatusCode::UNAVAILABLE, "Socket closed");
  EXPECT_EQ(link_.error_on(*link_.route(), broken).message(),
            "lost the connection to the tracker at " + server_->endpoint().text());
  tracker_.direct_endpoint = listens->endpoint().text();
  ASSERT_TRUE(link_.acquire(absl::Seconds(1)).ok());
  EXPECT_EQ(link_.error_on(*link_.route(), broken).message(),
            "lost the connection to the agent at " + tracker_.direct_endpoint);
}

TEST_F(FarmLinkTest, OfOneArtifactThatTwoTrialsNeedOneIsSent) {
  tracker_.held = stalled_.digest;
  std::vector<std::thread> trials;
  for (int i = 0; i < 2; ++i)
    trials.emplace_back([&] { EXPECT_EQ(link_.upload(stalled_), absl::OkStatus()); });
  tracker_.wait_for(stalled_.digest);
  tracker_.let_go();
  for (std::thread& trial : trials) trial.join();
  EXPECT_THAT(tracker_.noted(), testing::ElementsAre(stalled_.digest));
}

TEST_F(FarmLinkTest, CancelEndsAnUploadThatStallsAndThoseThatWaitForIt) {
  tracker_.held = stalled_.digest;
  std::vector<std::thread> trials;
  for (int i = 0; i < 2; ++i)
    trials.emplace_back([&] { EXPECT_TRUE(absl::IsCancelled(link_.upload(stalled_))); });
  tracker_.wait_for(stalled_.digest);
  const rpc::Instant began = rpc::real_clock().now();
  link_.cancel();
  for (std::thread& trial : trials) trial.join();
  EXPECT_LT(rpc::real_clock().now() - began, absl::Seconds(5));
  EXPECT_TRUE(absl::IsCancelled(link_.upload(other_)));
}

TEST_F(FarmLinkTest, CancelEndsARenewalThatNobodyAnswers) {
  const absl::StatusOr<LeasedDevice> lease = link_.acquire(absl::Seconds(1));
  ASSERT_TRUE(lease.ok()) << lease.status();
  tracker_.held = "renew";
  std::thread renews(
      [&] { EXPECT_TRUE(absl::IsCancelled(link_.renew(*lease).status())) << "and did not end by itself"; });
  tracker_.wait_for("renew");
  link_.cancel();
  renews.join();
}

TEST_F(FarmLinkTest, WhatTheTrackerDidNotHearOfAReleaseIsRepeatedBeforeTheNextLeaseIsAskedFor) {
  const absl::StatusOr<LeasedDevice> lease = link_.acquire(absl::Seconds(1));
  ASSERT_TRUE(lease.ok()) << lease.status();
  tracker_.is_deaf = true;
  link_.release(*lease);
  EXPECT_TRUE(absl::IsUnavailable(link_.acquire(absl::Seconds(1)).status()));
  tracker_.is_deaf = false;
  EXPECT_TRUE(link_.acquire(absl::Seconds(1)).ok());
  link_.release(*lease);
  EXPECT_TRUE(link_.acquire(absl::Seconds(1)).ok()) << "and not for ever";
  EXPECT_THAT(tracker_.noted(), testing::ElementsAre("acquire", "release L", "release L", "release L",
                                                     "acquire", "release L", "acquire"));
}

// Who gives a lease back is not who asks for the next one.
TEST_F(FarmLinkTest, AReleaseThatIsUnderWayIsSaidAgainBeforeTheNextLeaseIsAskedFor) {
  const absl::StatusOr<LeasedDevice> lease = link_.acquire(absl::Seconds(1));
  ASSERT_TRUE(lease.ok()) << lease.status();
  tracker_.held = "release L";
  std::thread gives_back([&] { link_.release(*lease); });
  tracker_.wait_for("release L");
  EXPECT_TRUE(link_.acquire(absl::Seconds(1)).ok());
  tracker_.let_go();
  gives_back.join();
  EXPECT_THAT(tracker_.noted(), testing::ElementsAre("acquire", "release L", "release L", "acquire"));
}

}  // namespace
}  // namespace tf::measure
