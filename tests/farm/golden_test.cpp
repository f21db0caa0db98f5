// The golden kernel's samples on their way to the tracker, at message level.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/files/temporary_folder.h"
#include "device_agent/agent/golden/golden_kernel.h"
#include "proto/farm/v1/farm.grpc.pb.h"
#include "rpc/connection/protocol.h"
#include "rpc/connection/server.h"
#include "tests/farm/agent_thread.h"

namespace tf::farm_test {
namespace {

namespace pb = tunefarm::farm::v1;

// Welcomes an agent and notes what it says of the golden kernel; ends the first stream after `first` samples.
class ListeningTracker final : public pb::Agents::Service {
 public:
  explicit ListeningTracker(size_t first) : first_(first) {}

  grpc::Status Synchronize(grpc::ServerContext*,
                           grpc::ServerReaderWriter<pb::TrackerMessage, pb::AgentMessage>* stream) override {
    pb::AgentMessage message;
    if (!stream->Read(&message)) return grpc::Status::OK;
    pb::TrackerMessage welcome;
    welcome.mutable_hello()->set_protocol_version(rpc::kProtocolVersion);
    stream->Write(welcome);
    std::vector<pb::GoldenSample> samples;
    while (stream->Read(&message)) {
      samples.insert(samples.end(), message.report().golden().begin(), message.report().golden().end());
      if (samples.size() < first_) continue;
      const std::scoped_lock lock(mutex_);
      streams_.push_back(samples);
      changed_.notify_all();
      return {grpc::StatusCode::UNAVAILABLE, "once more, please"};
    }
    return grpc::Status::OK;
  }

  // What was said on the first so many streams.
  std::vector<std::vector<pb::GoldenSample>> wait_for(size_t streams) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return streams_.size() >= streams; });
    return streams_;
  }

 private:
  const size_t first_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<pb::GoldenSample>> streams_;
};

class GoldenTest : public testing::Test {
 protected:
  void start(size_t samples, absl::Duration every) {
    tracker_ = std::make_unique<ListeningTracker>(samples);
    server_ = *rpc::Server::start({"127.0.0.1", 0}, {tracker_.get()});
    agent_ = std::make_unique<AgentThread>(agent::AgentOptions{.tracker = server_->endpoint(),
                                                               .state_dir = dir_.path() + "/a",
                                                               .slots = {{.cpus = {0}}, {.cpus = {1}}},
                                                               .golden = &golden_,
                                                               .golden_every = every});
  }

  const TemporaryFolder dir_ = *TemporaryFolder::make();
  const agent::GoldenKernel golden_;
  std::unique_ptr<ListeningTracker> tracker_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<AgentThread> agent_;
};

TEST_F(GoldenTest, EachSlotTellsItsSampleAndTellsItAgainInTheNextSession) {
  start(2, absl::Hours(1));
  const auto streams = tracker_->wait_for(2);
  ASSERT_EQ(streams.size(), 2u);
  for (const std::vector<pb::GoldenSample>& samples : streams) {
    ASSERT_EQ(samples.size(), 2u);
    EXPECT_NE(samples[0].slot(), samples[1].slot());
    EXPECT_EQ(samples[0].kernel(), samples[1].kernel());
    EXPECT_GT(samples[0].time_ns(), 0);
  }
  // Within one period there is no other sample: told again, it is the same one.
  for (const pb::GoldenSample& before : streams[0]) {
    const auto again = std::ranges::find(streams[1], before.slot(), &pb::GoldenSample::slot);
    ASSERT_NE(again, streams[1].end());
    EXPECT_EQ(again->time_ns(), before.time_ns());
    EXPECT_GE(again->age_ms(), before.age_ms());
  }
}

TEST_F(GoldenTest, AnIdleSlotTakesSampleAfterSample) {
  start(6, absl::Milliseconds(20));
  ASSERT_EQ(tracker_->wait_for(1).size(), 1u);
}

}  // namespace
}  // namespace tf::farm_test
