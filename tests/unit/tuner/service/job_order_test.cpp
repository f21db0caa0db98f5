// Whose job is next, by a clock that stands still until it is told to go.

#include "absl/strings/str_cat.h"
#include "tests/unit/tuner/service/job_queue_fixture.h"

namespace tf::service {
namespace {

using database::JobState;
using testing::ElementsAre;

class JobOrderTest : public JobQueueTest {
 protected:
  void start() { JobQueueTest::start({.clock = &clock_}); }

  // As an earlier process has left it.
  int64_t left_behind(const std::string& device, const std::string& submitter) {
    database::Job job = job_for(device, submitter);
    job.options = to_json(spec_for(device));
    return *store_->add_job(job);
  }

  // The job is the one that began last, and ends after so long.
  void end_after(absl::Duration time, int64_t job) {
    EXPECT_EQ(executor_.wait_for_starts(++begun_).back(), job);
    clock_.advance(time);
    executor_.end(job, absl::OkStatus());
    wait_for(job, JobState::kDone);
  }

  size_t begun_ = 0;
};

TEST_F(JobOrderTest, NobodysManyJobsHoldUpAnothersFew) {
  start();
  const int64_t a1 = submit("desk", "ada"), a2 = submit("desk", "ada"), a3 = submit("desk", "ada");
  const int64_t b1 = submit("desk", "bob"), b2 = submit("desk", "bob");
  end_after(absl::Minutes(10), a1);
  end_after(absl::Minutes(5), b1);
  end_after(absl::Minutes(5), b2);  // again: his first took half of what ada's did
  end_after(absl::Minutes(5), a2);
  end_after(absl::Minutes(5), a3);
}

TEST_F(JobOrderTest, AJobSaysWhoseDevicesItWaitsFor) {
  start();
  const int64_t a1 = submit("desk", "ada");
  executor_.wait_for_starts(1);
  const int64_t b1 = submit("desk", "bob");
  EXPECT_EQ(queue_->find(b1)->job.detail, absl::StrCat("waits for job ", a1));
  EXPECT_EQ(queue_->list()->back().job.detail, absl::StrCat("waits for job ", a1));
  EXPECT_EQ(store_->find_job(b1)->detail, "");
  end_after(absl::Minutes(1), a1);
  end_after(absl::Minutes(1), b1);
}

TEST_F(JobOrderTest, AHigherPriorityGoesFirstWhoeverHadMore) {
  start();
  const int64_t a1 = submit("desk", "ada");
  executor_.wait_for_starts(1);
  const int64_t b1 = submit("desk", "bob"), a2 = submit("desk", "ada", 1);
  end_after(absl::Minutes(10), a1);
  end_after(absl::Minutes(10), a2);
  end_after(absl::Minutes(10), b1);
}

TEST_F(JobOrderTest, WhatSomebodyHadLongAgoDoesNotCount) {
  start();
  const int64_t a1 = submit("desk", "ada"), c1 = submit("desk", "cyd");
  const int64_t a2 = submit("desk", "ada"), b1 = submit("desk", "bob");
  end_after(absl::Minutes(10), a1);
  end_after(absl::Hours(20), c1);
  end_after(absl::Minutes(1), a2);
  end_after(absl::Minutes(1), b1);
}

TEST_F(JobOrderTest, OfDevicesThatAreFreeAtOnceEachSubmitterGetsOne) {
  const int64_t on_desk = left_behind("desk", "ada"), later = left_behind("phone", "ada");
  const int64_t b1 = left_behind("desk", "bob"), on_phone = left_behind("phone", "bob");
  start();
  EXPECT_THAT(executor_.wait_for_starts(2), testing::UnorderedElementsAre(on_desk, on_phone));
  EXPECT_EQ(queue_->find(later)->job.state, JobState::kQueued);
  EXPECT_EQ(queue_->find(b1)->job.state, JobState::kQueued);
}

TEST_F(JobOrderTest, AJobThatIsPausedCountsForWhatItRan) {
  start();
  const int64_t a1 = submit("desk", "ada"), a2 = submit("desk", "ada"), b1 = submit("desk", "bob");
  executor_.wait_for_starts(1);
  clock_.advance(absl::Minutes(10));
  ASSERT_TRUE(queue_->pause(a1).ok());
  EXPECT_THAT(executor_.wait_for_starts(2), ElementsAre(a1, b1));
  executor_.end(b1, absl::OkStatus());
  EXPECT_THAT(executor_.wait_for_starts(3), ElementsAre(a1, b1, a2));
}

}  // namespace
}  // namespace tf::service
