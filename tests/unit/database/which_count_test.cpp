#include "database/which_count.h"

#include <algorithm>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "database/jsonl.h"
#include "tests/support/database/forwarding_store.h"
#include "tests/unit/database/store_contract.h"

namespace tf::database {
namespace {

using testing::ElementsAre;

Measurement ended(Outcome outcome, int64_t time, const std::string& machine = "f00d") {
  Measurement m = measured(100, time);
  m.outcome = outcome;
  m.device.fingerprint = machine;
  if (is_failure(outcome)) m.samples.clear();
  return m;
}

// The times of those that count, inserted in that order.
std::vector<int64_t> counting(std::vector<Measurement> measurements) {
  std::vector<int64_t> times;
  for (size_t i = 0; i < measurements.size(); ++i) measurements[i].id = static_cast<int64_t>(i + 1);
  for (const Measurement* m : which_count(measurements)) times.push_back(m->finished_unix_ns);
  return times;
}

Measurement imported(Measurement m, int64_t after) {
  m.imported_after = after;
  return m;
}

TEST(WhichCount, OfLocalMeasurementsTheLastInsertedCountsWhateverItsDate) {
  EXPECT_THAT(counting({ended(Outcome::kOk, 2), ended(Outcome::kOk, 3), ended(Outcome::kOk, 1)}),
              ElementsAre(1));
  EXPECT_THAT(counting({ended(Outcome::kOk, 2), ended(Outcome::kCrashed, 1)}), ElementsAre(1));
  Measurement other = ended(Outcome::kOk, 1);
  other.schedule = "another";
  EXPECT_THAT(counting({ended(Outcome::kOk, 2), other}), ElementsAre(2, 1)) << "each program has its own";
}

TEST(WhichCount, OfImportedMeasurementsTheLastByDateCounts) {
  EXPECT_THAT(counting({imported(ended(Outcome::kOk, 2), 0), imported(ended(Outcome::kOk, 3), 0),
                        imported(ended(Outcome::kOk, 1), 0)}),
              ElementsAre(3));
}

TEST(WhichCount, AnImportedMeasurementIsOlderThanWhatWasMeasuredHereAfterIt) {
  EXPECT_THAT(counting({ended(Outcome::kOk, 5), imported(ended(Outcome::kOk, 7), 1), ended(Outcome::kOk, 6)}),
              ElementsAre(6));
  EXPECT_THAT(counting({ended(Outcome::kOk, 5), imported(ended(Outcome::kOk, 7), 1)}), ElementsAre(7));
  EXPECT_THAT(counting({ended(Outcome::kOk, 5), imported(ended(Outcome::kOk, 3), 0)}), ElementsAre(5));
}

TEST(WhichCount, IsNoBoundWhereThereIsATimeOrAFailure) {
  EXPECT_THAT(counting({ended(Outcome::kOk, 1), ended(Outcome::kStoppedEarly, 2)}), ElementsAre(1));
  EXPECT_THAT(counting({ended(Outcome::kCrashed, 1), ended(Outcome::kStoppedEarly, 2)}), ElementsAre(1));
  EXPECT_THAT(counting({ended(Outcome::kStoppedEarly, 1), ended(Outcome::kStoppedEarly, 2)}), ElementsAre(2));
  EXPECT_THAT(counting({ended(Outcome::kStoppedEarly, 1), ended(Outcome::kTimedOut, 2)}), ElementsAre(2));
}

TEST(WhichCount, IsNoFailureOfAnotherMachineWhereThereIsATime) {
  EXPECT_THAT(counting({ended(Outcome::kOk, 1), ended(Outcome::kTimedOut, 2)}), ElementsAre(2));
  EXPECT_THAT(counting({ended(Outcome::kOk, 1), ended(Outcome::kTimedOut, 2, "slow box")}), ElementsAre(1));
  EXPECT_THAT(counting({ended(Outcome::kOk, 1), ended(Outcome::kCompileError, 2, "")}), ElementsAre(2))
      << "compilers name none";
}

// Rows that disagree about few programs, in any order.
std::vector<Measurement> quarrel(std::mt19937& random, int count) {
  const auto draw = [&](int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  };
  std::vector<Measurement> rows;
  for (int i = 0; i < count; ++i) {
    Measurement m = measured(100 + draw(50), draw(12));
    m.schedule = std::to_string(draw(4));
    m.outcome = static_cast<Outcome>(1 + draw(4));
    m.device.fingerprint = std::vector<std::string>{"", "one", "two"}[static_cast<size_t>(draw(3))];
    m.device.device_class = draw(5) == 0 ? "phone" : "desk";
    m.untuned = draw(3) == 0;
    if (is_failure(m.outcome) || draw(8) == 0) m.samples.clear();
    rows.push_back(std::move(m));
  }
  return rows;
}

std::vector<Digest> digests_of(const std::vector<Measurement>& rows) {
  std::vector<Digest> digests;
  for (const Measurement& m : rows) digests.push_back(record_digest(m));
  return digests;
}

std::vector<Measurement> scanned(Records& records, Filter::Which which) {
  std::vector<Measurement> rows;
  const auto keep = [&](const Measurement& m) { return rows.push_back(m), absl::OkStatus(); };
  EXPECT_TRUE(records.scan({.which = which}, keep).ok());
  return rows;
}

// By the functions of values: what top() says in SQL.
std::vector<Digest> answers_among(std::vector<Measurement> rows, bool only_untuned) {
  if (only_untuned) std::erase_if(rows, [](const Measurement& m) { return !m.untuned; });
  std::vector<Measurement> answers;
  for (const Measurement* m : which_count(rows))
    if (is_answer(*m)) answers.push_back(*m);
  std::ranges::stable_sort(answers, [&](const Measurement& a, const Measurement& b) {
    if (only_untuned) return counting_order(a) > counting_order(b);
    return std::pair(*a.median_ns(), a.id) < std::pair(*b.median_ns(), b.id);
  });
  return digests_of(answers);
}

// The same of scan().
std::vector<Digest> standing_among(const std::vector<Measurement>& rows, bool only_ok) {
  std::set<Program> answering;
  for (const Measurement* m : which_count(rows))
    if (is_answer(*m)) answering.insert(program_of(*m));
  std::vector<Measurement> standing;
  for (const Measurement& m : rows) {
    const bool is_ok = m.outcome == Outcome::kOk;
    if (is_ok ? answering.contains(program_of(m)) : !only_ok) standing.push_back(m);
  }
  return digests_of(standing);
}

void expect_the_same_in_sql(std::mt19937& random, int count) {
  const std::unique_ptr<Store> store = make_memory_store();
  const std::vector<Measurement> quarrelling = quarrel(random, count);
  ASSERT_TRUE(store->add_workload(conv_workload()).ok());
  for (size_t i = 0; i < quarrelling.size(); ++i)
    ASSERT_TRUE(store->insert(quarrelling[i], i % 3 == 0 ? Origin::kImport : Origin::kLive).ok());
  const std::vector<Measurement> rows = scanned(*store, Filter::Which::kAll);
  for (const bool only_untuned : {false, true}) {
    const BestQuery query{.problem = conv_problem(),
                          .of = only_untuned ? BestQuery::Of::kUntuned : BestQuery::Of::kEvery};
    EXPECT_EQ(digests_of(*store->top(query, 99)), answers_among(rows, only_untuned));
  }
  EXPECT_EQ(digests_of(scanned(*store, Filter::Which::kStanding)), standing_among(rows, false));
  EXPECT_EQ(digests_of(scanned(*store, Filter::Which::kOk)), standing_among(rows, true));
}

TEST(WhichCount, IsTheSameInSql) {
  std::mt19937 random(7);
  for (int turn = 0; turn < 30; ++turn) expect_the_same_in_sql(random, 40);
}

TEST(WhichCount, IsTheSameInSqlOfProgramsWithManyRows) {
  std::mt19937 random(8);
  expect_the_same_in_sql(random, 6'000);
}

class MergeContract : public StoreContract {
 protected:
  // As another database would have it after that export of this one.
  std::unique_ptr<Records> exported(const Filter& filter) {
    EXPECT_TRUE(export_jsonl_file(*store_, filter, folder_.file("r.jsonl")).ok());
    return *open_jsonl_records(folder_.file("r.jsonl"));
  }
};

// Ours are the newer ones; theirs failed or were of another scale.
TEST_P(MergeContract, AnImportOfOlderRecordsChangesNoAnswerInEitherOrder) {
  const auto row = [](const char* schedule, int64_t ns, int64_t time, Outcome outcome = Outcome::kOk) {
    Measurement m = measured(ns, time);
    m.samples.assign(12, {ns * 10, 10});
    m.schedule = schedule;
    m.untuned = m.schedule == "untuned";
    m.outcome = outcome;
    return m;
  };
  const std::vector<Measurement> ours = {row("untuned", 1000, 20), row("loser", 1100, 21),
                                         row("winner", 900, 22)};
  const std::vector<Measurement> theirs = {row("winner", 900, 10, Outcome::kCrashed), row("loser", 400, 11),
                                           row("untuned", 300, 12)};
  for (const bool ours_first : {true, false}) {
    store_ = GetParam().make(*TemporaryFolder::make());
    ASSERT_TRUE(store_->add_workload(conv_workload()).ok());
    for (const bool is_ours : {ours_first, !ours_first})
      for (const Measurement& m : is_ours ? ours : theirs)
        ASSERT_TRUE(store_->insert(m, is_ours ? Origin::kLive : Origin::kImport).ok());
    EXPECT_EQ(best({conv_problem()})->schedule, "winner") << ours_first;
    BestQuery untuned{conv_problem()};
    untuned.of = BestQuery::Of::kUntuned;
    EXPECT_EQ(store_->top(untuned, 1)->front().median_ns(), 1000);
  }
}

TEST_P(MergeContract, AnExportOfWhatIsOkHasNothingThatFailedSince) {
  Measurement good = measured(100, 1), bad = measured(90, 1), crash = measured(90, 2);
  good.job_id = bad.job_id = 1;
  crash.job_id = 2;
  crash.outcome = Outcome::kCrashed;
  crash.samples.clear();
  for (const Measurement& m : {good, bad, crash}) insert(m);
  ASSERT_EQ(best({conv_problem()})->median_ns(), 100);
  for (const Filter& filter :
       {Filter{.which = Filter::Which::kOk}, Filter{.job_id = 1, .which = Filter::Which::kStanding}}) {
    const auto found = exported(filter)->best({conv_problem()});
    ASSERT_TRUE(found.ok() && found->has_value());
    EXPECT_EQ((*found)->median_ns(), 100) << "what was caught is back";
  }
  bad.finished_unix_ns = 3;
  insert(bad);
  EXPECT_EQ((*exported({.which = Filter::Which::kOk})->best({conv_problem()}))->median_ns(), 90);
}

// Each question is a call to a running tuner, or a look through all records of a file.
TEST_P(MergeContract, BestAsksFewQuestionsHoweverManyAreUnsure) {
  class Counting final : public test::ForwardingStore {
   public:
    using ForwardingStore::ForwardingStore;
    absl::StatusOr<std::vector<Measurement>> top(const BestQuery& query, size_t limit) override {
      ++questions;
      return ForwardingStore::top(query, limit);
    }
    int questions = 0;
  };
  Measurement untuned = measured(1000);
  untuned.schedule = "untuned";
  untuned.untuned = true;
  insert(untuned);
  for (int64_t ns = 950; ns < 990; ++ns) insert(measured(ns));
  Counting counting(*store_);
  const auto found = counting.best({conv_problem()});
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->schedule, "untuned");
  EXPECT_LE(counting.questions, 4);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MergeContract, every_kind_of_store(), name_of_kind);

}  // namespace
}  // namespace tf::database
