#pragma once
// Owns: a job queue over a store in memory whose jobs do what the test says, and a clock that the test moves.

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "database/memory_store.h"
#include "tests/support/fake_clock.h"
#include "tests/unit/tuner/service/scripted_executor.h"
#include "tuner/service/jobs/job_queue.h"

namespace tf::service {

// Unlike rpc::FakeClock it goes on with each reading.
class SteppedClock final : public rpc::Clock {
 public:
  rpc::Instant now() const override {
    const std::scoped_lock lock(mutex_);
    return now_ += absl::Microseconds(1);  // no two readings of a real one are the same
  }
  void advance(absl::Duration by) {
    const std::scoped_lock lock(mutex_);
    now_ += by;
  }

 private:
  mutable std::mutex mutex_;
  mutable rpc::Instant now_ = absl::Seconds(1000);
};

class JobQueueTest : public testing::Test {
 protected:
  void start(JobQueueOptions options = {}) {
    options.retry_after = absl::Milliseconds(20);
    options.look_every = absl::Milliseconds(20);
    auto queue = JobQueue::start(*store_, executor_, options);
    ASSERT_TRUE(queue.ok()) << queue.status();
    queue_ = *std::move(queue);
  }

  int64_t submit(const std::string& device, const std::string& submitter = "", int priority = 0) {
    JobSpec spec = spec_for(device);
    spec.set_priority(priority);
    absl::StatusOr<int64_t> id = queue_->submit(job_for(device, submitter), spec);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or(0);
  }

  JobView wait_for(int64_t id, database::JobState state) {
    JobView view = *queue_->find(id);
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (view.job.state != state && absl::Now() < deadline) {
      view = *queue_->wait_for_change(id, view.version, absl::Seconds(1));
    }
    EXPECT_EQ(view.job.state, state);
    return view;
  }

  std::unique_ptr<database::Store> store_ = database::make_memory_store();
  ScriptedExecutor executor_;
  SteppedClock clock_;  // of a queue that is given it; as all of these, it outlives the queue
  std::unique_ptr<JobQueue> queue_;
};

}  // namespace tf::service
