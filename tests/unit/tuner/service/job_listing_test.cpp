// What a queue looks at beside all that was ever done: counted, not timed.

#include "tests/support/database/forwarding_store.h"
#include "tests/unit/tuner/service/job_queue_fixture.h"

namespace tf::service {
namespace {

using database::JobState;

class CountingStore final : public test::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::StatusOr<int64_t> count_trials(int64_t job_id) override {
    ++counts;
    return ForwardingStore::count_trials(job_id);
  }
  std::atomic<int> counts = 0;
};

TEST(JobListing, APageCostsWhatItShowsAndWhatIsOverIsCountedOnce) {
  const auto kept = database::make_memory_store();
  database::Job job = job_for("desk");
  job.options = to_json(spec_for("desk"));
  job.state = JobState::kDone;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(kept->add_job(job).ok());
  CountingStore store(*kept);
  ScriptedExecutor executor;
  const auto queue = *JobQueue::start(store, executor);
  EXPECT_EQ(queue->count_by_state()["done"], 1000);
  EXPECT_EQ(store.counts, 0);
  const std::vector<JobView> page = *queue->list(500, 7);
  ASSERT_EQ(page.size(), 7u);
  EXPECT_EQ(page.front().job.id, 501);
  EXPECT_EQ(store.counts, 7);
  ASSERT_EQ(queue->list(500, 7)->size(), 7u);
  EXPECT_EQ(store.counts, 7);
}

}  // namespace
}  // namespace tf::service
