#include "tuner/service/jobs/job_queue.h"

#include <google/protobuf/util/message_differencer.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/unit/tuner/service/job_queue_fixture.h"

namespace tf::service {
namespace {

using database::JobState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

TEST_F(JobQueueTest, JobsOfOneDeviceRunInOrderAndOfTwoAtTheSameTime) {
  start();
  const int64_t first = submit("desk"), second = submit("desk"), other = submit("phone");
  EXPECT_THAT(executor_.wait_for_starts(2), UnorderedElementsAre(first, other));
  EXPECT_EQ(queue_->find(second)->job.state, JobState::kQueued);
  executor_.end(first, absl::OkStatus());
  EXPECT_EQ(executor_.wait_for_starts(3).back(), second);
  EXPECT_EQ(wait_for(first, JobState::kDone).job.finished_unix_ns > 0, true);
}

TEST_F(JobQueueTest, AJobHasNoMoreSlotsThanOneMayHave) {
  SlotSupply supply{.elsewhere = {"z/0"}};
  for (int i = 0; i < kMostSlots + 50; ++i) supply.usable.insert(absl::StrCat("a", i, "/0"));
  executor_.set_supply("desk", supply);
  start();
  const int64_t id = submit("desk");
  EXPECT_THAT(executor_.wait_for_starts(1), ElementsAre(id));
  wait_for(id, JobState::kRunning);
  while (executor_.target(id).slots <= 1) std::this_thread::yield();
  EXPECT_EQ(executor_.target(id).slots, static_cast<size_t>(kMostSlots));
  JobSpec greedy = spec_for("desk");
  greedy.set_slots(kMostSlots + 1);
  EXPECT_THAT(std::string(check(greedy).message()), HasSubstr("--slots must lie between 1 and 128"));
}

TEST_F(JobQueueTest, OfWaitingJobsTheOneWithTheHighestPriorityRunsNext) {
  start();
  JobSpec urgent = spec_for("desk");
  urgent.set_priority(5);
  const int64_t first = submit("desk");
  executor_.wait_for_starts(1);
  const int64_t second = submit("desk");
  const int64_t third = *queue_->submit(job_for("desk"), urgent);
  executor_.end(first, absl::OkStatus());
  EXPECT_EQ(executor_.wait_for_starts(2).back(), third);
  executor_.end(third, absl::OkStatus());
  EXPECT_EQ(executor_.wait_for_starts(3).back(), second);
}

TEST_F(JobQueueTest, JobsForDifferentlyLabelledDevicesRunAtTheSameTime) {
  start();
  JobSpec here = spec_for("desk"), there = spec_for("desk");
  here.set_selector("room=1");
  there.set_selector("room=2");
  const int64_t first = *queue_->submit(job_for("desk"), here);
  const int64_t second = *queue_->submit(job_for("desk"), there);
  EXPECT_THAT(executor_.wait_for_starts(2), UnorderedElementsAre(first, second));
}

TEST_F(JobQueueTest, ProgressIsSeenWhileAJobRuns) {
  start();
  const int64_t id = submit("desk");
  JobView view = wait_for(id, JobState::kRunning);
  while (!view.progress || view.progress->trials() < 3)
    view = *queue_->wait_for_change(id, view.version, absl::Seconds(1));
  EXPECT_EQ(view.progress->tasks(0).label(), "conv2d");
}

TEST_F(JobQueueTest, ACancelledJobDrainsAndNeverRunsAgain) {
  start();
  const int64_t id = submit("desk");
  wait_for(id, JobState::kRunning);
  ASSERT_TRUE(queue_->cancel(id).ok());
  const std::string detail = wait_for(id, JobState::kCancelled).job.detail;
  EXPECT_THAT(detail, testing::ContainsRegex("cancelled after [0-9]+ trials?"));
  EXPECT_EQ(store_->find_job(id)->detail, detail) << "the next process tells it, too";
  EXPECT_TRUE(queue_->cancel(id).ok());
  EXPECT_EQ(queue_->resume(id).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->find_job(id)->state, JobState::kCancelled);
  const int64_t next = submit("desk");
  EXPECT_THAT(executor_.wait_for_starts(2), ElementsAre(id, next));
}

TEST_F(JobQueueTest, APausedJobGoesOnWhenItIsResumed) {
  start();
  const int64_t id = submit("desk");
  wait_for(id, JobState::kRunning);
  ASSERT_TRUE(queue_->pause(id).ok());
  wait_for(id, JobState::kPaused);
  const int64_t next = submit("desk");  // a paused job frees its device
  wait_for(next, JobState::kRunning);
  executor_.end(next, absl::OkStatus());
  ASSERT_TRUE(queue_->resume(id).ok());
  EXPECT_THAT(executor_.wait_for_starts(3), ElementsAre(id, next, id));
}

TEST_F(JobQueueTest, OfAJobThatIsToGoOnItIsNotSaidThatItIsOver) {
  start();
  const int64_t id = submit("desk");
  JobView view = *queue_->find(id);
  while (!view.progress) view = *queue_->wait_for_change(id, view.version, absl::Seconds(10));
  ASSERT_TRUE(queue_->pause(id).ok());
  EXPECT_EQ(wait_for(id, JobState::kPaused).progress->phase(), session::PHASE_OVER);
  const int64_t other = submit("desk");
  executor_.wait_for_starts(2);
  const absl::StatusOr<JobView> resumed = queue_->resume(id);  // and waits for the other
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->progress->phase(), session::PHASE_MEASURING);
  EXPECT_GT(resumed->progress->trials(), 0);
  executor_.end(other, absl::OkStatus());
  EXPECT_EQ(wait_for(other, JobState::kDone).progress->phase(), session::PHASE_OVER);
  queue_->drain();
}

TEST_F(JobQueueTest, AJobThatStillFinishesItsTrialsSaysWhatItWillBe) {
  start();
  executor_.set_slow(true);
  const int64_t id = submit("desk");
  wait_for(id, JobState::kRunning);
  EXPECT_EQ(queue_->find(id)->job.detail, "");
  const auto expect_told = [&](const absl::StatusOr<JobView>& view, const std::string& detail) {
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->job.state, JobState::kRunning);
    EXPECT_EQ(view->job.detail, detail);
    EXPECT_EQ(queue_->list()->back().job.detail, detail);
  };
  expect_told(queue_->pause(id), "pausing");
  expect_told(queue_->resume(id), "resuming");
  expect_told(queue_->pause(id), "pausing");
  expect_told(queue_->cancel(id), "cancelling");
  executor_.set_slow(false);
  EXPECT_THAT(wait_for(id, JobState::kCancelled).job.detail, testing::StartsWith("cancelled after "));
}

TEST_F(JobQueueTest, AWatcherWaitsForNewsAlsoWhileTheQueueDrains) {
  start();
  executor_.set_slow(true);
  const int64_t runs = submit("desk"), waits = submit("desk");
  wait_for(runs, JobState::kRunning);
  std::thread drains([&] { queue_->drain(); });
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (queue_->find(runs)->job.detail.empty() && absl::Now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(queue_->find(runs)->job.detail, "stopping with the tuner");
  const absl::Time began = absl::Now();
  EXPECT_TRUE(queue_->wait_for_change(waits, queue_->find(waits)->version, absl::Milliseconds(100)).ok());
  EXPECT_GE(absl::Now() - began, absl::Milliseconds(90)) << "and does not ask again and again";
  executor_.set_slow(false);
  drains.join();
}

TEST_F(JobQueueTest, WhatIsSoAlreadyIsNoErrorAndChangesNothing) {
  start();
  const int64_t runs = submit("desk"), waits = submit("desk");
  wait_for(runs, JobState::kRunning);
  const auto expect_unchanged = [](const absl::StatusOr<JobView>& view, JobState state) {
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_TRUE(view->unchanged);
    EXPECT_EQ(view->job.state, state);
  };
  expect_unchanged(queue_->resume(runs), JobState::kRunning);
  expect_unchanged(queue_->resume(waits), JobState::kQueued);
  EXPECT_FALSE(queue_->pause(waits)->unchanged);
  expect_unchanged(queue_->pause(waits), JobState::kPaused);
  EXPECT_FALSE(queue_->resume(waits)->unchanged);
  EXPECT_FALSE(queue_->cancel(waits)->unchanged);
  expect_unchanged(queue_->cancel(waits), JobState::kCancelled);
  EXPECT_THAT(executor_.wait_for_starts(1), ElementsAre(runs));
}

TEST_F(JobQueueTest, APausedJobStaysPausedInTheNextProcess) {
  start();
  const int64_t id = submit("desk");
  wait_for(id, JobState::kRunning);
  ASSERT_TRUE(queue_->pause(id).ok());
  wait_for(id, JobState::kPaused);
  queue_.reset();
  start();
  EXPECT_EQ(queue_->find(id)->job.state, JobState::kPaused);
  ASSERT_TRUE(queue_->resume(id).ok());
  wait_for(id, JobState::kRunning);
}

// So that it stays what it was told to be if the process dies meanwhile.
TEST_F(JobQueueTest, WhatAJobIsToBecomeIsInTheStoreBeforeItHasStopped) {
  start();
  const int64_t id = submit("desk");
  wait_for(id, JobState::kRunning);
  executor_.set_slow(true);
  const auto expect_told = [&](const absl::StatusOr<JobView>& view, JobState stored) {
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->job.state, JobState::kRunning);
    EXPECT_FALSE(view->unchanged) << "it is on its way, but not there yet";
    EXPECT_EQ(store_->find_job(id)->state, stored);
  };
  for (int i = 0; i < 2; ++i) expect_told(queue_->pause(id), JobState::kPaused);
  for (int i = 0; i < 2; ++i) expect_told(queue_->resume(id), JobState::kRunning);
  for (int i = 0; i < 2; ++i) expect_told(queue_->cancel(id), JobState::kCancelled);
  EXPECT_GT(store_->find_job(id)->finished_unix_ns, 0);
  for (const absl::StatusOr<JobView>& late : {queue_->pause(id), queue_->resume(id)}) {
    EXPECT_EQ(late.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(late.status().message()), HasSubstr("it is being cancelled"));
  }
  executor_.set_slow(false);
  wait_for(id, JobState::kCancelled);
}

TEST_F(JobQueueTest, TheLastWordCountsWhileAJobStops) {
  start();
  const int64_t id = submit("desk");
  wait_for(id, JobState::kRunning);
  executor_.set_slow(true);
  ASSERT_TRUE(queue_->pause(id).ok());
  ASSERT_TRUE(queue_->resume(id).ok());
  ASSERT_TRUE(queue_->pause(id).ok());
  executor_.set_slow(false);
  wait_for(id, JobState::kPaused);
  EXPECT_THAT(executor_.wait_for_starts(1), ElementsAre(id));
}

TEST_F(JobQueueTest, AJobIsCancelledWhileItIsPaused) {
  start();
  const int64_t id = submit("desk");
  wait_for(id, JobState::kRunning);
  ASSERT_TRUE(queue_->pause(id).ok());
  wait_for(id, JobState::kPaused);
  ASSERT_TRUE(queue_->cancel(id).ok());
  EXPECT_EQ(wait_for(id, JobState::kCancelled).job.detail, "cancelled while it was paused");
  EXPECT_EQ(queue_->resume(id).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(JobQueueTest, AJobThatRanWhenItsProcessDiedRunsAgain) {
  database::Job job = job_for("desk");
  job.options = to_json(spec_for("desk"));
  job.state = JobState::kRunning;
  const int64_t id = *store_->add_job(job);
  start();
  EXPECT_THAT(executor_.wait_for_starts(1), ElementsAre(id));
}

TEST_F(JobQueueTest, AnEmbeddedRunThatDiedIsLeftToItsOwnCommand) {
  size_t starts = 0;
  for (const JobState state : {JobState::kRunning, JobState::kQueued}) {  // as earlier versions left it
    database::Job job = job_for("");
    job.options = to_json(spec_for(""));
    job.state = state;
    const int64_t embedded = *store_->add_job(job);
    start();
    const int64_t id = submit("desk");
    wait_for(id, JobState::kRunning);
    EXPECT_EQ(executor_.wait_for_starts(++starts).back(), id);
    EXPECT_EQ(queue_->find(embedded)->job.state, state);
    EXPECT_THAT(std::string(queue_->resume(embedded).status().message()),
                HasSubstr("belongs to `tuner tune`"));
    ASSERT_TRUE(queue_->cancel(id).ok());
    wait_for(id, JobState::kCancelled);
    queue_.reset();
  }
}

TEST_F(JobQueueTest, AJobWhoseStoredOptionsAreDamagedFailsWithTheReason) {
  JobSpec endless = spec_for("desk");
  endless.set_trials(0);
  const std::vector<std::pair<std::string, std::string>> damaged = {{"{", "cannot read"},
                                                                    {to_json(endless), "would not end"}};
  std::vector<int64_t> ids;
  for (const auto& [options, why] : damaged) {
    database::Job job = job_for("desk");
    job.options = options;
    job.state = JobState::kRunning;
    ids.push_back(*store_->add_job(job));
  }
  start();
  for (size_t i = 0; i < ids.size(); ++i) {
    const database::Job job = *store_->find_job(ids[i]);
    EXPECT_EQ(job.state, JobState::kFailed);
    EXPECT_EQ(job.status_code, static_cast<int>(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(job.detail, HasSubstr(damaged[i].second));
  }
  const int64_t id = submit("desk");  // its device is free
  EXPECT_THAT(executor_.wait_for_starts(1), ElementsAre(id));
}

TEST_F(JobQueueTest, DrainLeavesJobsQueuedForTheNextProcess) {
  start();
  const int64_t id = submit("desk"), waiting = submit("desk");
  wait_for(id, JobState::kRunning);
  queue_->drain();
  EXPECT_EQ(store_->find_job(id)->state, JobState::kQueued);
  EXPECT_EQ(store_->find_job(waiting)->state, JobState::kQueued);
  start();
  EXPECT_THAT(executor_.wait_for_starts(2), ElementsAre(id, id));
}

TEST_F(JobQueueTest, JobsSubmittedDuringADrainAreKeptForTheNextProcess) {
  start({.limits = {.in_all = 1'000'000, .of_each = 1'000'000}});
  for (int i = 0; i < 20; ++i) submit(absl::StrCat("desk ", i));
  executor_.wait_for_starts(20);
  std::vector<int64_t> late;
  std::atomic<bool> drained = false;
  std::thread submitter([&] {
    while (!drained || late.size() < 20) late.push_back(submit("phone"));
  });
  queue_->drain();
  drained = true;
  submitter.join();
  EXPECT_EQ(store_->find_job(late.back())->state, JobState::kQueued);
  queue_.reset();
  start();
  wait_for(late.front(), JobState::kRunning);
}

TEST_F(JobQueueTest, AJobWhoseFarmIsAwayWaitsAndTriesAgain) {
  start();
  const int64_t id = submit("desk");
  executor_.end(id, absl::UnavailableError("no tracker answers"));
  EXPECT_THAT(executor_.wait_for_starts(2), ElementsAre(id, id));
  executor_.end(id, absl::OkStatus());
  wait_for(id, JobState::kDone);
}

TEST_F(JobQueueTest, AJobWhoseTunerIsNoMemberAnyMoreWaits) {
  start();
  const int64_t id = submit("desk");
  executor_.end(id, absl::UnauthenticatedError("the certificate of tuner ada is revoked"));
  EXPECT_THAT(executor_.wait_for_starts(2), ElementsAre(id, id));
  EXPECT_NE(store_->find_job(id)->state, JobState::kFailed);
}

TEST_F(JobQueueTest, AFailedJobKeepsWhyItFailed) {
  start();
  const int64_t id = submit("desk");
  executor_.end(id, absl::NotFoundError("no device has the key \"desk\""));
  const JobView view = wait_for(id, JobState::kFailed);
  EXPECT_EQ(view.job.status_code, static_cast<int>(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->find_job(id)->detail, HasSubstr("no device has the key"));
  EXPECT_EQ(queue_->cancel(id).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(JobQueueTest, ARefusedJobLeavesNothingBehind) {
  start();
  JobSpec nonsense = spec_for("desk"), endless = spec_for("desk");
  nonsense.set_target("nonsense");
  endless.set_trials(0);
  EXPECT_THAT(std::string(queue_->check_submission("", nonsense).message()), HasSubstr("no target"));
  EXPECT_THAT(std::string(queue_->submit(job_for("desk"), endless).status().message()),
              HasSubstr("--minutes"));
  EXPECT_TRUE(store_->jobs()->empty());
  EXPECT_EQ(queue_->find(1).status().code(), absl::StatusCode::kNotFound);
}

using google::protobuf::util::MessageDifferencer;

TEST(JobSpec, SurvivesItsTextForm) {
  JobSpec spec = default_spec();
  spec.set_model_name("a \"name\"");
  spec.set_device_key("desk");
  spec.set_selector("room=lab3,!shared");
  spec.set_priority(-2);
  spec.set_trials(7);
  spec.set_minutes(1.5);
  spec.add_allowed_numerics("bf16");
  (*spec.mutable_dims())["batch"] = 4;
  (*spec.mutable_inputs())["axes"] = "0,2";
  spec.add_open_dims()->set_name("sequence");
  (*spec.add_anchors()->mutable_sizes())["sequence"] = 8;
  spec.set_seed(0);
  spec.set_device_class("lab");
  EXPECT_TRUE(MessageDifferencer::Equals(*job_spec_from_json(to_json(spec)), spec));
  EXPECT_FALSE(job_spec_from_json("{").ok());
  EXPECT_FALSE(job_spec_from_json(R"({"threads": "many"})").ok());
}

TEST(JobSpec, HasTheFieldsThatEarlierTunersWrote) {
  JobSpec spec = default_spec();
  spec.set_model_name("mlp.onnx");
  spec.set_trials(7);
  spec.add_allowed_numerics("bf16");
  (*spec.mutable_dims())["batch"] = 4;
  const absl::StatusOr<JobSpec> read = job_spec_from_json(
      R"({"allowed_numerics":["bf16"],"device_key":"","dims":{"batch":4},"minutes":0.0,)"
      R"("model_name":"mlp.onnx","priority":0,"seed":1,"selector":"","slots":0,"strategy":"evolutionary",)"
      R"("target":"host","threads":1,"trials":7,"until_gain_percent":0.0})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(MessageDifferencer::Equals(*read, spec));
  EXPECT_EQ(device_class_of(*read), "local");
}

TEST(JobSpec, KeepsWhatIsAskedOfItsNetwork) {
  frontends::NetworkRequest request;
  for (const char* dim : {"batch=2..64:2", "sequence=128"})
    ASSERT_TRUE(frontends::add_dim(dim, request).ok());
  ASSERT_TRUE(frontends::add_anchors({"batch=2,64"}, request).ok());
  ASSERT_TRUE(frontends::add_input("axes=0,2", request).ok());
  JobSpec spec = spec_for("desk");
  set_network_request(request, spec);
  EXPECT_TRUE(check(spec).ok()) << check(spec);
  const frontends::NetworkRequest kept = network_request(*job_spec_from_json(to_json(spec)));
  EXPECT_EQ(kept.options.dims, request.options.dims);
  EXPECT_EQ(kept.options.given, request.options.given);
  EXPECT_EQ(kept.anchors, request.anchors);
  ASSERT_EQ(kept.ranges.size(), 1u);
  EXPECT_EQ(kept.ranges[0].var->name, "batch");
  EXPECT_EQ(kept.ranges[0].low, 2);
  EXPECT_EQ(kept.ranges[0].high, 64);
  EXPECT_EQ(kept.ranges[0].multiple_of, 2);
}

// A specification may come from anybody.
TEST(JobSpec, SizesThatNoCommandLineGivesAreRefused) {
  JobSpec spec = spec_for("desk");
  auto& dim = *spec.add_open_dims();
  dim.set_name("batch");
  dim.set_least(0);
  dim.set_most(4);
  dim.set_multiple_of(1);
  EXPECT_THAT(std::string(check(spec).message()), HasSubstr("--dim batch=0..4"));
  dim.set_least(1);
  EXPECT_TRUE(check(spec).ok());
  (*spec.add_anchors()->mutable_sizes())["batch"] = 5;
  EXPECT_THAT(std::string(check(spec).message()), HasSubstr("--at: batch=5"));
  (*spec.mutable_anchors(0)->mutable_sizes())["batch"] = 4;
  EXPECT_TRUE(check(spec).ok());
  dim.set_multiple_of(0);
  EXPECT_THAT(std::string(check(spec).message()), HasSubstr("multiples of 1 or more"));
  dim.set_multiple_of(1);
  *spec.add_open_dims() = tunefarm::tune::v1::OpenDim(dim);
  EXPECT_THAT(std::string(check(spec).message()), HasSubstr("twice"));
}

TEST(JobSpec, OptionsThatMeanNothingAreRefusedByTheirName) {
  JobSpec spec = spec_for("desk");
  (*spec.mutable_dims())["batch"] = 0;
  EXPECT_THAT(std::string(check(spec).message()), HasSubstr("--dim batch=0"));
  spec = spec_for("desk");
  spec.set_threads(0);
  EXPECT_THAT(std::string(check(spec).message()), HasSubstr("--threads"));
  spec = spec_for("desk");
  spec.set_priority(11);
  EXPECT_THAT(std::string(check(spec).message()), HasSubstr("--priority"));
  spec = spec_for("desk");
  spec.set_until_gain_percent(101);
  EXPECT_EQ(std::string(check(spec).message()), "--until-gain must be above 0 and at most 100, not 101");
}

TEST_F(JobQueueTest, CountsItsJobsByState) {
  start();
  submit("desk");
  submit("desk");
  executor_.wait_for_starts(1);
  EXPECT_THAT(queue_->count_by_state(),
              UnorderedElementsAre(testing::Pair("queued", 1), testing::Pair("running", 1),
                                   testing::Pair("paused", 0), testing::Pair("done", 0),
                                   testing::Pair("failed", 0), testing::Pair("cancelled", 0)));
}

}  // namespace
}  // namespace tf::service
