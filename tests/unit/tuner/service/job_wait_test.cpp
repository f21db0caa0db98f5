// What a job says of what it waits for: what is so now, and nothing else.

#include "absl/strings/str_cat.h"
#include "tests/support/captured_log.h"
#include "tests/unit/tuner/service/job_queue_fixture.h"

namespace tf::service {
namespace {

using database::JobState;
using testing::ElementsAre;

const char* const kNoDevice = "no device became free in time";

class JobWaitTest : public JobQueueTest {
 protected:
  void expect_detail(int64_t id, const std::string& detail) {
    JobView view = *queue_->find(id);
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    while (view.job.detail != detail && absl::Now() < deadline)
      view = *queue_->wait_for_change(id, view.version, absl::Milliseconds(100));
    EXPECT_EQ(view.job.detail, detail);
  }
};

TEST_F(JobWaitTest, ARunningJobSaysWhatItWaitsForAsLongAsItDoes) {
  start();
  const int64_t id = submit("desk");
  wait_for(id, JobState::kRunning);
  executor_.wait_for(id, "no tracker answers");
  expect_detail(id, "waits: no tracker answers");
  EXPECT_EQ(queue_->find(id)->job.state, JobState::kRunning);
  EXPECT_EQ(store_->find_job(id)->detail, "");
  executor_.wait_for(id, "");
  expect_detail(id, "");
}

TEST_F(JobWaitTest, AJobThatTriesAgainSaysWhatItWaitsForUntilItHasIt) {
  start();
  const int64_t id = submit("desk");
  executor_.end(id, absl::UnavailableError(kNoDevice));
  EXPECT_THAT(executor_.wait_for_starts(2), ElementsAre(id, id));
  const JobView again = wait_for(id, JobState::kRunning);
  EXPECT_EQ(again.job.detail, absl::StrCat("waits: ", kNoDevice));
  EXPECT_EQ(store_->find_job(id)->detail, "") << "a later process knows nothing of now";
  executor_.wait_for(id, "");
  expect_detail(id, "");
}

TEST_F(JobWaitTest, WhatAJobWaitedForIsForgottenOnceAnotherHasIt) {
  start({.clock = &clock_});  // nothing is tried again until it goes on
  const int64_t first = submit("desk");
  executor_.wait_for_starts(1);
  const int64_t second = submit("desk"), elsewhere = submit("phone");
  executor_.wait_for_starts(2);
  executor_.end(first, absl::UnavailableError(kNoDevice));
  EXPECT_EQ(executor_.wait_for_starts(3).back(), second);
  expect_detail(first, absl::StrCat("waits: ", kNoDevice));
  executor_.wait_for(elsewhere, "");  // devices of another kind say nothing of these
  executor_.wait_for(second, kNoDevice);
  expect_detail(second, absl::StrCat("waits: ", kNoDevice));
  expect_detail(first, absl::StrCat("waits: ", kNoDevice));
  executor_.wait_for(second, "");
  expect_detail(first, absl::StrCat("waits for job ", second));
  clock_.advance(absl::Minutes(1));
  executor_.end(second, absl::OkStatus());
  EXPECT_EQ(executor_.wait_for_starts(4).back(), first);
  expect_detail(first, "");
  queue_->drain();
}

TEST_F(JobWaitTest, AJobThatIsPausedWaitsForNothing) {
  start();
  const int64_t id = submit("desk");
  executor_.end(id, absl::UnavailableError(kNoDevice));
  expect_detail(id, absl::StrCat("waits: ", kNoDevice));
  ASSERT_TRUE(queue_->pause(id).ok());
  EXPECT_EQ(wait_for(id, JobState::kPaused).job.detail.find("waits"), std::string::npos);
  ASSERT_TRUE(queue_->resume(id).ok());
  expect_detail(id, "");
}

TEST_F(JobWaitTest, OfAJobThatTriesAgainAndAgainEachStateIsLoggedOnce) {
  const CapturedLog log;
  start();
  const int64_t id = submit("desk");
  for (int i = 0; i < 3; ++i) executor_.end(id, absl::UnavailableError(kNoDevice));
  EXPECT_THAT(executor_.wait_for_starts(4), ElementsAre(id, id, id, id));
  EXPECT_EQ(log.count(kNoDevice), 1) << log.text();
  EXPECT_EQ(log.count("running"), 1) << log.text();
  executor_.wait_for(id, "");
  expect_detail(id, "");
  queue_->drain();
  EXPECT_EQ(log.count(kNoDevice), 1) << log.text();
  EXPECT_EQ(log.count("running"), 2) << "and again now that it has its device\n" << log.text();
}

}  // namespace
}  // namespace tf::service
