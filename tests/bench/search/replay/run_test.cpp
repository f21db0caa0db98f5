// Runs against pools that are filled by a stand-in for a device: a time made of the schedule's text.

#include "tests/bench/search/replay/run.h"

#include <gtest/gtest.h>

#include "compiler/schedule/schedule.h"
#include "database/memory_store.h"
#include "tests/bench/search/replay/run_set.h"
#include "tests/support/tuner/test_problems.h"
#include "tuner/space/sampling.h"

namespace tf::replay {
namespace {

session::Task small_task() {
  return {.label = "matmul", .kernel = {.workload = test::matmul_bias_relu(64, 64, 64)}};
}

database::Measurement measured(const database::Measurement& subject) {
  database::Measurement record;
  record.problem = subject.problem;
  record.schedule = subject.schedule;
  record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
  record.sketch_hash = subject.sketch_hash;
  record.choices = subject.choices;
  const Digest digest = sha256(subject.schedule);
  const int64_t ns = 10'000 + 100 * digest.bytes[0];
  for (int i = 0; i < 10; ++i) record.samples.push_back({.total_ns = 500 * ns, .iterations = 500});
  return record;
}

RunSetOptions options_of(const std::vector<std::string>& names, int seeds = 1) {
  RunSetOptions options{.target = target::parse_target("x86_64:cpu=znver4").value(),
                        .threads = 1,
                        .contenders = {},
                        .seeds = seeds,
                        .trials = 48};
  for (const std::string& name : names) options.contenders.push_back(contender_from_name(name).value());
  return options;
}

// Returns how many were measured.
int64_t fill(RunSet& runs, Pool& pool) {
  int64_t count = 0;
  for (;;) {
    const std::vector<Wanted> wanted = runs.advance(pool, 1);
    if (wanted.empty()) return count;
    for (const Wanted& each : wanted) pool.add(measured(each.subject));
    count += static_cast<int64_t>(wanted.size());
  }
}

bool equal(const Step& a, const Step& b) {
  return a.device_seconds == b.device_seconds && a.best_seconds == b.best_seconds;
}

TEST(Replay, GivesTheSameRunsFromTheSamePoolAndAsksForNothing) {
  const session::Task task = small_task();
  const RunSetOptions options = options_of({"evolutionary", "ansor", "random", "annealing", "grid"}, 2);
  Pool pool;
  RunSet recording = RunSet::create(task, options).value();
  EXPECT_GT(fill(recording, pool), 100);
  EXPECT_EQ(recording.coverage(), 1);

  RunSet replay = RunSet::create(task, options).value();
  EXPECT_TRUE(replay.advance(pool, 3).empty());
  const auto expected = recording.curves(), found = replay.curves();
  ASSERT_EQ(expected.size(), found.size());
  for (const auto& [name, runs] : expected) {
    const Runs& again = found.at(name);
    ASSERT_EQ(runs.size(), again.size());
    for (size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(runs[i].size(), 48u) << name;
      EXPECT_TRUE(std::equal(runs[i].begin(), runs[i].end(), again[i].begin(), again[i].end(), equal))
          << name;
    }
  }
}

TEST(Replay, IsNotChangedByWhatIsAppendedToThePool) {
  const session::Task task = small_task();
  Pool pool;
  RunSet first = RunSet::create(task, options_of({"evolutionary"})).value();
  fill(first, pool);
  const size_t known = pool.entries().size();
  RunSet other = RunSet::create(task, options_of({"random"}, 3)).value();
  fill(other, pool);
  EXPECT_GT(pool.entries().size(), known);

  RunSet again = RunSet::create(task, options_of({"evolutionary"})).value();
  EXPECT_TRUE(again.advance(pool, 1).empty());
  const Runs before = first.curves().at("evolutionary"), after = again.curves().at("evolutionary");
  EXPECT_TRUE(std::equal(before[0].begin(), before[0].end(), after[0].begin(), after[0].end(), equal));
}

TEST(Replay, CountsWhatThePoolDoesNotKnowAsNotCovered) {
  const session::Task task = small_task();
  Pool pool;
  RunSet runs = RunSet::create(task, options_of({"random"})).value();
  const std::vector<Wanted> wanted = runs.advance(pool, 1);
  ASSERT_FALSE(wanted.empty());
  EXPECT_EQ(runs.coverage(), 0);
  EXPECT_EQ(runs.trials_left(), 48);
  // All but one of a batch: nothing of the batch is observed yet.
  for (size_t i = 1; i < wanted.size(); ++i) pool.add(measured(wanted[i].subject));
  const std::vector<Wanted> still = runs.advance(pool, 1);
  ASSERT_EQ(still.size(), 1u);
  EXPECT_EQ(still[0].subject.schedule, wanted[0].subject.schedule);
  EXPECT_EQ(runs.coverage(), 0);
  pool.add(measured(wanted[0].subject));
  runs.advance(pool, 1);
  EXPECT_GT(runs.coverage(), 0);
  EXPECT_LT(runs.coverage(), 1);
}

TEST(Replay, StartsFromWhatOtherTasksTaughtWhereTheContenderRemembers) {
  const RunSetOptions options = options_of({"evolutionary"});
  const session::Task other{.label = "matmul", .kernel = {.workload = test::matmul_bias_relu(128, 64, 64)}};
  const auto space = session::TaskSpace::create(other, options.target, 1, {}).value();
  // All are slow but one, which is not a seed.
  std::vector<database::Measurement> records;
  space::Random random(7);
  while (records.size() < 60) {
    const space::Candidate candidate = space::sample(space.space(), random);
    if (!space.evaluator().legal({&candidate, 1})[0]) continue;
    database::Measurement subject;
    subject.schedule = schedule::to_string(space.space().schedule_of(candidate));
    subject.sketch_hash = space.hash_of(candidate);
    subject.choices.assign(candidate.point.begin(), candidate.point.end());
    records.push_back(measured(subject));
    if (records.size() == 1) records[0].samples = {{.total_ns = 1000, .iterations = 1}};
  }
  auto memory = std::make_shared<Memory>();
  memory->history.add(space, records, 0);
  memory->prior = session::prior_of(memory->history, {});
  ASSERT_NE(memory->prior, nullptr);

  const session::Task task = small_task();
  const auto own = session::TaskSpace::create(task, options.target, 1, {}).value();
  const std::vector<space::Candidate> seeds = memory->history.seeds_for(own);
  ASSERT_FALSE(seeds.empty());
  RunSetOptions remembering = options_of({"evolutionary@others"});
  remembering.memory = memory;
  const Pool pool;
  RunSet runs = RunSet::create(task, remembering).value();
  const std::vector<Wanted> first = runs.advance(pool, 1);
  RunSet plain = RunSet::create(task, options).value();
  EXPECT_EQ(first[0].subject.schedule, plain.advance(pool, 1)[0].subject.schedule) << "the untuned one";
  EXPECT_EQ(first[1].subject.schedule, schedule::to_string(own.space().schedule_of(seeds[0])));
}

TEST(Replay, NamesWhatOnlyRunsThatRememberPropose) {
  const session::Task task = small_task();
  Pool pool;
  RunSet alone = RunSet::create(task, options_of({"evolutionary"})).value();
  fill(alone, pool);
  RunSet remembering = RunSet::create(task, options_of({"evolutionary@others", "evolutionary"}, 2)).value();
  bool any = false;
  for (const Wanted& wanted : remembering.advance(pool, 1)) any |= wanted.source == Source::kRemembered;
  EXPECT_TRUE(any) << "the second seed is in no pool";
}

TEST(Pool, TeachesFirstVisitsAndNothingThatItsLessonsLedTo) {
  const auto store = database::make_memory_store();
  const session::Task task = small_task();
  ASSERT_TRUE(store->add_workload({.text = tensor::canonical_text(task.kernel.workload)}).ok());
  const tensor::KernelKey problem =
      tensor::key_for(task.kernel, *target::parse_target("x86_64:cpu=znver4"), 1);
  const auto record = [&](const std::string& schedule, Source source, int64_t ns) {
    database::Measurement subject;
    subject.problem = problem;
    subject.schedule = schedule;
    database::Measurement replicate = measured(subject);
    replicate.samples = {{.total_ns = ns, .iterations = 1}};
    replicate.job_id = static_cast<int64_t>(source);
    ASSERT_TRUE(store->insert(replicate).ok());
  };
  record("a", Source::kRandom, 100);
  record("b", Source::kRemembered, 10);
  record("c", Source::kLate, 50);
  record("a", Source::kRandom, 90);
  record("b", Source::kLate, 11);
  const std::vector<database::Measurement> lessons = lessons_of(*store, problem).value();
  ASSERT_EQ(lessons.size(), 2u);
  EXPECT_EQ(lessons[0].schedule, "a");
  EXPECT_EQ(lessons[0].samples[0].total_ns, 100);
  EXPECT_EQ(lessons[1].schedule, "c");
}

TEST(Replay, OfTheBaselineStartsFromNothingOfOurs) {
  const session::Task task = small_task();
  const Pool pool;
  RunSet ours = RunSet::create(task, options_of({"evolutionary"})).value();
  RunSet baseline = RunSet::create(task, options_of({"ansor"})).value();
  const std::string untuned = ours.advance(pool, 1).front().subject.schedule;
  const std::vector<Wanted> round = baseline.advance(pool, 1);
  EXPECT_EQ(round.size(), 48u) << "a whole round at once, as far as the trials go";
  for (const Wanted& wanted : round) EXPECT_NE(wanted.subject.schedule, untuned);
}

TEST(Pool, TakesTheShortestSampleOfTheVisitsThatNoRunSees) {
  database::Measurement subject;
  subject.schedule = "some schedule";
  database::Measurement record = measured(subject);
  Pool pool;
  pool.add(record);
  const Entry& entry = *pool.find("some schedule");
  const double first = entry.seconds;
  EXPECT_EQ(entry.replicates[0].seconds, first);
  const auto replicate = [&](std::vector<int64_t> runs_ns) {
    record.samples.clear();
    for (const int64_t ns : runs_ns) record.samples.push_back({.total_ns = ns});
    pool.add(record);
    return entry.seconds;
  };
  EXPECT_DOUBLE_EQ(replicate({2'000'000'000, 1'900'000'000}), 1.9) << "whatever the first one said";
  EXPECT_DOUBLE_EQ(replicate({1}), 1.9) << "the finals'";
  EXPECT_DOUBLE_EQ(replicate({3000, 2000, 2500}), 2e-6);
  EXPECT_DOUBLE_EQ(replicate({1}), 2e-6) << "the finals'";
  EXPECT_DOUBLE_EQ(replicate({5000}), 2e-6);
  EXPECT_DOUBLE_EQ(pool.best_seconds(), 2e-6);
  EXPECT_EQ(pool.entries().size(), 1u);
  ASSERT_TRUE(replicate_of_round(entry, 1).has_value());
  EXPECT_DOUBLE_EQ(replicate_of_round(entry, 0)->seconds, 1e-9);
  EXPECT_DOUBLE_EQ(replicate_of_round(entry, 1)->seconds, 1e-9);
  EXPECT_FALSE(replicate_of_round(entry, 2).has_value());
}

TEST(Pool, CountsNoReplicateThatFailed) {
  database::Measurement subject;
  subject.schedule = "some schedule";
  database::Measurement record = measured(subject);
  Pool pool;
  pool.add(record);
  record.outcome = database::Outcome::kTimedOut;
  pool.add(record);
  EXPECT_EQ(pool.find("some schedule")->replicates.size(), 1u);
}

TEST(Replay, ProposesTheSameWhateverLaterVisitsSay) {
  const session::Task task = small_task();
  Pool pool;
  RunSet first = RunSet::create(task, options_of({"evolutionary"})).value();
  fill(first, pool);
  database::Measurement subject;
  subject.schedule = pool.entries()[0]->schedule;
  database::Measurement replicate = measured(subject);
  replicate.samples = {{.total_ns = 1, .iterations = 1}};
  for (int i = 0; i < 2; ++i) pool.add(replicate);
  RunSet again = RunSet::create(task, options_of({"evolutionary"})).value();
  EXPECT_TRUE(again.advance(pool, 1).empty());
  EXPECT_EQ(again.curves().at("evolutionary")[0].back().device_seconds,
            first.curves().at("evolutionary")[0].back().device_seconds);
}

TEST(Pool, LeavesOutSchedulesOfAnotherVersionAndKnowsFailures) {
  database::Measurement subject;
  subject.schedule = "old";
  database::Measurement record = measured(subject);
  record.semantics_version += 1;
  Pool pool;
  pool.add(record);
  EXPECT_EQ(pool.find("old"), nullptr);
  record = measured(subject);
  record.outcome = database::Outcome::kWrongOutput;
  pool.add(record);
  ASSERT_NE(pool.find("old"), nullptr);
  EXPECT_EQ(pool.find("old")->seconds, 0);
  EXPECT_TRUE(pool.find("old")->ran);
  EXPECT_EQ(pool.best_seconds(), 0);
}

TEST(Contender, IsNamedByItsStrategyAndAPolicyThatIsNotItsOwn) {
  for (const char* name : {"evolutionary", "ansor", "evolutionary-fixed", "ansor-racing", "random",
                           "evolutionary@others", "evolutionary-fixed@others"})
    EXPECT_EQ(contender_from_name(name).value().name(), name);
  EXPECT_EQ(contender_from_name("ansor-fixed").value().name(), "ansor");
  EXPECT_FALSE(contender_from_name("evolutionary-slow").ok());
  EXPECT_FALSE(contender_from_name("clever").ok());
}

}  // namespace
}  // namespace tf::replay
