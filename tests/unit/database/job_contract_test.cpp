// What every Store does with jobs, their tasks and attempts, whatever keeps it.

#include <cmath>
#include <limits>

#include "tests/unit/database/store_contract.h"

namespace tf::database {
namespace {

class JobContract : public StoreContract {};

TEST_P(JobContract, AttemptsAreCountedByJobAndAreNoMeasurements) {
  Attempt attempt{.problem = conv_problem(), .schedule = "s", .status_code = "UNAVAILABLE", .job_id = 3};
  ASSERT_TRUE(store_->add_attempt(attempt).ok());
  ASSERT_TRUE(store_->add_attempt(attempt).ok());
  EXPECT_EQ(*store_->count_attempts(3), 2);
  EXPECT_EQ(*store_->count_attempts(4), 0);
  EXPECT_EQ(*store_->count_trials(3), 0);
  EXPECT_EQ(count({}), 0);
  EXPECT_FALSE(*store_->is_measured(attempt.problem, attempt.schedule));
}

TEST_P(JobContract, AJobGoesFromQueuedToFailedAndThenStays) {
  Job job{.model_name = "net.onnx",
          .model_digest = "d",
          .model_path = "p",
          .target = "host",
          .device = "desk",
          .submitter = "ada",
          .options = R"({"trials": 10})",
          .created_unix_ns = 5};
  absl::StatusOr<int64_t> id = store_->add_job(job);
  ASSERT_TRUE(id.ok());
  job.id = *id;
  job.state = JobState::kFailed;
  job.status_code = 5;
  job.finished_unix_ns = 9;
  ASSERT_TRUE(store_->update_job(job).ok());
  absl::StatusOr<Job> found = store_->find_job(*id);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->state, JobState::kFailed);
  EXPECT_EQ(found->status_code, 5);
  EXPECT_EQ(found->options, job.options);
  EXPECT_EQ(found->submitter, "ada");
  EXPECT_EQ(found->created_unix_ns, 5);
  job.detail = "after 7 trials";  // which is known only when it has stopped
  EXPECT_TRUE(store_->update_job(job).ok());
  EXPECT_EQ(store_->find_job(*id)->detail, "after 7 trials");
  job.state = JobState::kRunning;
  EXPECT_EQ(store_->update_job(job).code(), absl::StatusCode::kFailedPrecondition);
  job.id = 99;
  EXPECT_EQ(store_->update_job(job).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->find_job(99).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->jobs()->size(), 1u);
}

TEST_P(JobContract, JobTasksAreReplacedByTheirIndex) {
  const int64_t job = *store_->add_job({.model_name = "net.onnx"});
  JobTask task{.job_id = job, .index = 1, .problem = conv_problem(), .label = "conv", .weight = 4};
  ASSERT_TRUE(store_->save_job_tasks({task}).ok());
  task.trials = 64;
  task.best_ns = 12.5;
  task.state = std::string("a\0b", 3);
  JobTask other = task;
  other.index = 0;
  ASSERT_TRUE(store_->save_job_tasks({task, other}).ok());
  absl::StatusOr<std::vector<JobTask>> tasks = store_->job_tasks(job);
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(tasks->size(), 2u);
  EXPECT_EQ((*tasks)[0].index, 0);
  EXPECT_EQ((*tasks)[1].trials, 64);
  EXPECT_EQ((*tasks)[1].state, task.state);
  EXPECT_EQ((*tasks)[1].problem, conv_problem());
}

TEST_P(JobContract, TasksOfAnUnknownJobAreRefusedAsAWhole) {
  const int64_t job = *store_->add_job({.model_name = "net.onnx"});
  JobTask good{.job_id = job, .problem = conv_problem()}, bad{.job_id = job + 1, .problem = conv_problem()};
  EXPECT_FALSE(store_->save_job_tasks({good, bad}).ok());
  EXPECT_TRUE(store_->job_tasks(job)->empty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, JobContract, every_kind_of_store(), name_of_kind);

}  // namespace
}  // namespace tf::database
