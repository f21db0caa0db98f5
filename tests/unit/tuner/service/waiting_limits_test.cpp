// How many jobs may wait: the rule, and the queue that keeps to it.

#include "tuner/service/jobs/waiting_limits.h"

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/tuner/service/job_queue_fixture.h"

namespace tf::service {
namespace {

using database::JobState;
using testing::HasSubstr;

TEST(WaitingLimits, SayWhatIsFullAndWhatToDo) {
  const WaitingLimits limits{.in_all = 10, .of_each = 3};
  EXPECT_TRUE(check_room(limits, "ada", 9, 2).ok());
  const absl::Status hers = check_room(limits, "ada", 9, 3), all = check_room(limits, "ada", 10, 2);
  EXPECT_EQ(hers.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(hers.message()), HasSubstr("3 jobs of ada are waiting"));
  EXPECT_THAT(std::string(hers.message()), HasSubstr("--max-waiting-each"));
  EXPECT_EQ(all.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(all.message()), HasSubstr("10 are waiting at this tuner"));
  EXPECT_THAT(std::string(check_room(limits, "", 9, 3).message()), HasSubstr("unnamed submitters"));
}

class WaitingLimitsTest : public JobQueueTest {
 protected:
  absl::StatusCode try_submit(const std::string& submitter) {
    return queue_->submit(job_for("desk", submitter), spec_for("desk")).status().code();
  }
};

TEST_F(WaitingLimitsTest, OfOneSubmitterSoManyWaitBesideWhatRuns) {
  start({.limits = {.in_all = 100, .of_each = 2}});
  const int64_t first = submit("desk", "ada");
  wait_for(first, JobState::kRunning);
  const int64_t second = submit("desk", "ada");
  submit("desk", "ada");
  EXPECT_EQ(try_submit("ada"), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(queue_->check_submission("ada", spec_for("desk")).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(try_submit("bob"), absl::StatusCode::kOk);
  EXPECT_EQ(store_->jobs()->size(), 4u) << "what is refused leaves nothing behind";
  ASSERT_TRUE(queue_->cancel(second).ok());
  EXPECT_EQ(try_submit("ada"), absl::StatusCode::kOk);
  executor_.end(first, absl::OkStatus());
  executor_.wait_for_starts(2);
}

TEST_F(WaitingLimitsTest, AFullQueueHidesNoMistake) {
  start({.limits = {.in_all = 1, .of_each = 1}});
  wait_for(submit("desk", "ada"), JobState::kRunning);
  submit("desk", "ada");
  ASSERT_EQ(try_submit("ada"), absl::StatusCode::kResourceExhausted);
  JobSpec nonsense = spec_for("desk"), endless = spec_for("desk");
  nonsense.set_target("nonsense");
  endless.set_trials(0);
  for (const JobSpec& spec : {nonsense, endless, spec_for("nowhere")}) {
    const absl::Status refused = queue_->check_submission("ada", spec);
    EXPECT_FALSE(refused.ok());
    EXPECT_NE(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  }
}

TEST_F(WaitingLimitsTest, OfAllTogetherSoManyWait) {
  start({.limits = {.in_all = 2, .of_each = 2}});
  wait_for(submit("desk", "ada"), JobState::kRunning);
  submit("desk", "ada");
  submit("desk", "bob");
  EXPECT_EQ(try_submit("cyd"), absl::StatusCode::kResourceExhausted);
}

TEST_F(WaitingLimitsTest, APausedJobWaits) {
  start({.limits = {.in_all = 100, .of_each = 1}});
  const int64_t id = submit("desk", "ada");
  wait_for(id, JobState::kRunning);
  ASSERT_TRUE(queue_->pause(id).ok());
  wait_for(id, JobState::kPaused);
  EXPECT_EQ(try_submit("ada"), absl::StatusCode::kResourceExhausted);
}

TEST_F(WaitingLimitsTest, WhatAnEarlierProcessAcceptedStaysAndCounts) {
  for (int i = 0; i < 3; ++i) {
    database::Job job = job_for("desk", "ada");
    job.options = to_json(spec_for("desk"));
    ASSERT_TRUE(store_->add_job(job).ok());
  }
  start({.limits = {.in_all = 100, .of_each = 1}});
  executor_.wait_for_starts(1);
  EXPECT_EQ(try_submit("ada"), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store_->jobs()->size(), 3u);
}

TEST_F(WaitingLimitsTest, SubmissionsAtTheSameTimeDoNotSlipPast) {
  constexpr int kMost = 5;
  start({.limits = {.in_all = 100, .of_each = kMost}});
  wait_for(submit("desk", "ada"), JobState::kRunning);
  std::atomic<int> accepted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 4; ++k) accepted += try_submit("ada") == absl::StatusCode::kOk;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(accepted, kMost);
}

}  // namespace
}  // namespace tf::service
