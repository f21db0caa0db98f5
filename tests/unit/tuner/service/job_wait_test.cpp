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

TEST_F(JobWaitTest, AJobWhoseDevicesAreAllInTroubleSaysWhatIsWrongWithThem) {
  const std::string why = "the device a1 of key desk is quarantined: it could not be run";
  executor_.set_supply("desk", SlotSupply{.why_none = why});
  start();
  const int64_t id = submit("desk");
  executor_.end(id, absl::UnavailableError(kNoDevice));
  EXPECT_THAT(executor_.wait_for_starts(2), ElementsAre(id, id));
  executor_.wait_for(id, kNoDevice);
  expect_detail(id, "waits for a free device: " + why);
  executor_.set_supply("desk", SlotSupply{.usable = {"a1/0"}});
  executor_.hold(id, {"a1/0"});
  executor_.wait_for(id, "");
  expect_detail(id, "");
}

TEST_F(JobWaitTest, AJobThatNobodyKnowsDevicesForIsTriedAndSaysWhatItWasTold) {
  executor_.set_supply("desk", absl::UnavailableError("no tracker answers at desk:7190"));
  start();
  const int64_t id = submit("desk");
  executor_.end(id, absl::UnavailableError("no tracker answers at desk:7190"));
  EXPECT_THAT(executor_.wait_for_starts(2), ElementsAre(id, id));
  expect_detail(id, "waits: no tracker answers at desk:7190");
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
