// Jobs whose end the store does not take at once: a full disk, for one.

#include <atomic>
#include <string>
#include <thread>

#include "tests/support/database/forwarding_store.h"
#include "tests/unit/tuner/service/job_queue_fixture.h"

namespace tf::service {
namespace {

using database::JobState;
using testing::ContainsRegex;
using testing::HasSubstr;

class FullStore final : public test::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::Status update_job(const database::Job& job) override {
    if (!full) return ForwardingStore::update_job(job);
    ++refused;
    return absl::ResourceExhaustedError("the disk is full");
  }
  std::atomic<bool> full = false;
  std::atomic<int> refused = 0;
};

class JobEndTest : public JobQueueTest {
 protected:
  JobEndTest() {
    auto full = std::make_unique<FullStore>(*kept_);
    full_ = full.get();
    store_ = std::move(full);
  }
  ~JobEndTest() override { queue_.reset(); }  // which uses what this owns

  // A job that has still something to measure.
  int64_t run_slowly() {
    executor_.set_slow(true);
    const int64_t id = submit("desk");
    wait_for(id, JobState::kRunning);
    return id;
  }

  void stop_on_a_full_disk() {
    full_->full = true;
    executor_.set_slow(false);
  }

  void expect_kept_at_last(const database::Job& job) {
    full_->full = false;
    const auto is_kept = [&] { return kept_->find_job(job.id)->detail == job.detail; };
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (!is_kept() && absl::Now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(is_kept());
    EXPECT_EQ(kept_->find_job(job.id)->state, job.state);
  }

  std::unique_ptr<database::Store> kept_ = std::move(store_);
  FullStore* full_ = nullptr;
};

TEST_F(JobEndTest, ACancelledJobIsOverThoughHowFarItCameIsNotKept) {
  std::atomic<int> ended = 0;
  start({.on_end = [&](const database::Job&) { ++ended; }});
  const int64_t id = run_slowly();
  ASSERT_TRUE(queue_->cancel(id).ok());
  stop_on_a_full_disk();
  const database::Job job = wait_for(id, JobState::kCancelled).job;
  EXPECT_THAT(job.detail, ContainsRegex("cancelled after [0-9]+ trials?"));
  EXPECT_EQ(kept_->find_job(id)->detail, "cancelled");
  const absl::StatusOr<JobView> again = queue_->cancel(id);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->unchanged);
  EXPECT_THAT(std::string(queue_->resume(id).status().message()), HasSubstr("it is cancelled"));
  expect_kept_at_last(job);
  EXPECT_EQ(queue_->find(id)->job.detail, job.detail);
  EXPECT_EQ(ended, 1) << "its model is let go once";
}

TEST_F(JobEndTest, APausedJobIsPausedThoughHowFarItCameIsNotKept) {
  start();
  const int64_t id = run_slowly();
  ASSERT_TRUE(queue_->pause(id).ok());
  stop_on_a_full_disk();
  const database::Job job = wait_for(id, JobState::kPaused).job;
  EXPECT_THAT(job.detail, ContainsRegex("paused after [0-9]+ trials?"));
  EXPECT_TRUE(queue_->pause(id)->unchanged);
  expect_kept_at_last(job);
  ASSERT_TRUE(queue_->resume(id).ok());
  EXPECT_EQ(executor_.wait_for_starts(2).size(), 2u);
}

TEST_F(JobEndTest, WhatHasEndedIsNeitherPausedNorCancelledBeforeThatIsKept) {
  start();
  const int64_t id = run_slowly();
  full_->full = true;
  executor_.end(id, absl::OkStatus());
  while (full_->refused == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(queue_->find(id)->job.state, JobState::kRunning) << "nobody is told what a crash would forget";
  for (const auto change : {&JobQueue::cancel, &JobQueue::pause, &JobQueue::resume}) {
    const absl::Status refused = ((*queue_).*change)(id).status();
    EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  }
  full_->full = false;
  for (const auto change : {&JobQueue::cancel, &JobQueue::pause, &JobQueue::resume}) {
    const absl::Status refused = ((*queue_).*change)(id).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("it is done"));
  }
  EXPECT_EQ(kept_->find_job(id)->state, JobState::kDone);
}

TEST_F(JobEndTest, AJobWhoseMeasurementsDoNotFitOnTheDiskWaitsAndGoesOn) {
  start();
  const int64_t id = submit("desk");
  wait_for(id, JobState::kRunning);
  executor_.end(id, absl::ResourceExhaustedError("cannot write t.db: the disk is full"));
  EXPECT_EQ(executor_.wait_for_starts(2).size(), 2u) << "it is tried again";
  executor_.end(id, absl::OkStatus());
  wait_for(id, JobState::kDone);
}

}  // namespace
}  // namespace tf::service
