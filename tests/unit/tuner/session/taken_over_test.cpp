#include "tuner/session/taken_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tf::session {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kJob = 7, kOther = 8;

// Rows in the order in which they are added, numbered from 1.
class TakenOverTest : public testing::Test {
 protected:
  database::Measurement& add(const std::string& schedule, int64_t job, int64_t ns = 1000) {
    database::Measurement row;
    row.id = static_cast<int64_t>(rows_.size()) + 1;
    row.schedule = schedule;
    row.job_id = job;
    row.outcome = database::Outcome::kOk;
    row.samples = {{ns, 1}};
    row.finished_unix_ns = row.id;
    return rows_.emplace_back(std::move(row));
  }
  void add_interleaved(const std::string& schedule, int64_t job, int64_t ns = 1000) {
    database::Measurement& row = add(schedule, job, ns);
    row.interleaved =
        database::Interleaved{.began_unix_ns = row.finished_unix_ns, .ns = static_cast<double>(ns)};
  }
  TakenOver taken(int64_t first_record) const { return take_over(rows_, kJob, first_record); }

  std::vector<database::Measurement> rows_;
};

// As "schedule nanoseconds".
std::vector<std::string> texts(const std::vector<database::Measurement>& rows) {
  std::vector<std::string> texts;
  for (const database::Measurement& row : rows)
    texts.push_back(row.schedule + " " + std::to_string(row.samples.front().total_ns));
  return texts;
}

TEST_F(TakenOverTest, OfBeforeTakesWhatCountsInTheOrderOfTheFirstTrials) {
  add("champion", kOther, 10);
  add("slow", kOther, 30);
  add("slower", kOther, 40);
  add_interleaved("champion", kOther, 11);
  add("own", kJob, 20);
  EXPECT_THAT(texts(taken(5).before), ElementsAre("champion 11", "slow 30", "slower 40"));
}

TEST_F(TakenOverTest, CallsUntunedWhatWasCalledSoLast) {
  add("old", kOther).untuned = true;
  add("new", kOther).untuned = true;
  database::Measurement& failed = add("newest", kOther);
  failed.untuned = true;
  failed.outcome = database::Outcome::kCrashed;
  std::vector<std::string> untuned;
  for (const database::Measurement& row : taken(9).before)
    if (row.untuned) untuned.push_back(row.schedule);
  EXPECT_THAT(untuned, ElementsAre("new"));
}

TEST_F(TakenOverTest, OfOthersSinceTakesTheFirstOfEachScheduleThatIsNotItsOwn) {
  add("own", kJob, 20);
  add("a", kOther, 30);
  add("own", kOther, 21);
  add_interleaved("a", kOther, 33);
  add("b", kOther + 1, 40);
  const TakenOver taken = this->taken(1);
  EXPECT_THAT(taken.before, IsEmpty());
  EXPECT_THAT(texts(taken.own), ElementsAre("own 20"));
  EXPECT_THAT(texts(taken.since), ElementsAre("a 30", "b 40"));
}

// Or a run that is stopped in its play-off would go on as if it had tried it.
TEST_F(TakenOverTest, DoesNotTakeAPlayOffForATrial) {
  add("own", kJob, 20);
  add("a", kOther, 30);
  add_interleaved("a", kJob, 31);
  const TakenOver taken = this->taken(1);
  EXPECT_THAT(texts(taken.own), ElementsAre("own 20"));
  EXPECT_THAT(texts(taken.since), ElementsAre("a 30"));
}

TEST_F(TakenOverTest, OfNoJobIsAllBefore) {
  add("a", 0);
  add("b", kOther);
  EXPECT_THAT(texts(take_over(rows_, 0, std::numeric_limits<int64_t>::max()).before),
              ElementsAre("a 1000", "b 1000"));
}

}  // namespace
}  // namespace tf::session
