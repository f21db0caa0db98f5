// Whose job is next, by a clock that stands still until it is told to go.

#include <functional>
#include <string>
#include <vector>

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

TEST_F(JobOrderTest, AJobWithoutASlotSaysWhichJobsHaveThem) {
  start();
  const int64_t a1 = submit("desk", "ada");
  executor_.wait_for_starts(1);
  const int64_t b1 = submit("desk", "ada");
  const std::string waits =
      absl::StrCat("waits for a free device: the one slot of key desk is used by job ", a1);
  EXPECT_EQ(queue_->find(b1)->job.detail, waits);
  EXPECT_EQ(queue_->list()->back().job.detail, waits);
  EXPECT_EQ(store_->find_job(b1)->detail, "");
  end_after(absl::Minutes(1), a1);
  end_after(absl::Minutes(1), b1);
}

TEST_F(JobOrderTest, AJobSaysWhoElseHasTheDevices) {
  executor_.set_supply("desk",
                       SlotSupply{.elsewhere = {"a/0"}, .why_none = "1 of key desk is leased by eve"});
  start();
  const int64_t a1 = submit("desk", "ada");
  executor_.wait_for_starts(1);  // to wait in the tracker's queue
  const int64_t b1 = submit("desk", "ada");
  EXPECT_EQ(queue_->find(b1)->job.detail, "waits for a free device: 1 of key desk is leased by eve");
  end_after(absl::Minutes(1), a1);
}

// Eight devices: the first job has all, gives half of them back to the second, and has them again afterwards.
TEST_F(JobOrderTest, JobsOfOneKeyShareItsSlots) {
  SlotSupply supply;
  std::vector<std::string> all;
  for (int i = 0; i < 8; ++i) all.push_back(absl::StrCat("m", i, "/0"));
  supply.usable = {all.begin(), all.end()};
  executor_.set_supply("desk", supply);
  start();
  const auto is_soon = [&](const std::function<bool()>& is_true) {
    const absl::Time end = absl::Now() + absl::Seconds(10);
    while (!is_true() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(5));
    return is_true();
  };
  const int64_t a1 = submit("desk", "ada");
  EXPECT_TRUE(is_soon([&] { return executor_.target(a1).slots == 8; }));
  executor_.hold(a1, all);
  EXPECT_TRUE(is_soon([&] { return queue_->find(a1)->slots.size() == 8; }));
  const int64_t b1 = submit("desk", "bob");
  EXPECT_TRUE(is_soon([&] { return executor_.target(b1).slots == 4; })) << "both run at once";
  EXPECT_TRUE(is_soon([&] { return executor_.target(a1).give_back.size() == 4; }));
  EXPECT_EQ(executor_.target(a1).slots, 4u);
  executor_.hold(a1, {all.begin(), all.begin() + 4});
  executor_.hold(b1, {all.begin() + 4, all.end()});
  EXPECT_TRUE(is_soon([&] { return queue_->find(b1)->slots.size() == 4; }));
  executor_.end(b1, absl::OkStatus());
  EXPECT_TRUE(is_soon([&] { return executor_.target(a1).slots == 8; }));
  EXPECT_THAT(executor_.target(a1).give_back, testing::IsEmpty());
  EXPECT_THAT(queue_->find(b1)->slots, testing::IsEmpty());
  executor_.end(a1, absl::OkStatus());
  wait_for(a1, JobState::kDone);
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
