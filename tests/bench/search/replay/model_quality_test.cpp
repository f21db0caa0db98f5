// What models are judged by.

#include "tests/bench/search/replay/model_quality.h"

#include <gtest/gtest.h>

#include "compiler/schedule/schedule.h"
#include "tests/support/tuner/test_problems.h"
#include "tuner/model/evaluator.h"
#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf::replay {
namespace {

class TaskExamplesOf : public ::testing::Test {
 protected:
  TaskExamplesOf() {
    task_.task = {.label = "matmul", .kernel = {.workload = test::matmul_bias_relu(64, 64, 64)}};
    const space::DesignSpace space =
        space::generate_space({.workload = task_.task.kernel.workload, .target = target_});
    const model::Evaluator evaluator(space, target_, 1);
    space::Random random(3);
    while (records_.size() < 60) {
      const space::Candidate candidate = space::sample(space, random);
      if (!evaluator.judge(candidate)) continue;
      database::Measurement record;
      record.schedule = schedule::to_string(space.schedule_of(candidate));
      if (std::ranges::any_of(records_, [&](const auto& known) { return known.schedule == record.schedule; }))
        continue;
      record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
      record.sketch_hash = space.sketches[static_cast<size_t>(candidate.sketch)].hash().hex();
      for (const uint32_t choice : candidate.point) record.choices.push_back(choice);
      record.job_id = 1;
      record.code_digest = std::to_string(records_.size());
      records_.push_back(std::move(record));
    }
  }

  void replicate(Pool& pool, size_t number, int64_t ns) {
    database::Measurement record = records_[number];
    for (int i = 0; i < 3; ++i) record.samples.push_back({.total_ns = ns});
    pool.add(record);
  }
  TaskExamples examples(const Pool& pool) { return task_examples(task_, target_, 1, pool, 200).value(); }

  const target::Target target_ = target::parse_target("x86_64:cpu=znver4").value();
  BenchTask task_;
  std::vector<database::Measurement> records_;
};

TEST_F(TaskExamplesOf, AreOneACode) {
  Pool pool;
  for (size_t i = 0; i < 60; ++i) {
    records_[i].code_digest = std::to_string(i % 20);
    replicate(pool, i, 1000 + static_cast<int64_t>(i));
  }
  EXPECT_EQ(examples(pool).examples.size(), 20u);
  EXPECT_EQ(examples(pool).stale, 0);
}

TEST_F(TaskExamplesOf, AreLabelledByAsManyVisitsOfEach) {
  Pool pool;
  for (size_t i = 0; i < 60; ++i) replicate(pool, i, 1000);
  for (size_t i = 0; i < 60; ++i) replicate(pool, i, 990);
  replicate(pool, 7, 500);  // a third replicate, which no other code had
  const TaskExamples of = examples(pool);
  EXPECT_EQ(of.replicates, 2u);
  for (const Example& example : of.examples) EXPECT_DOUBLE_EQ(example.seconds, 990e-9);
}

TEST_F(TaskExamplesOf, LeaveOutWhatWasVisitedTooSeldomNearTheBest) {
  Pool pool;
  for (size_t i = 0; i < 60; ++i) replicate(pool, i, i < 50 ? 1000 : 9000);
  for (size_t i = 0; i < 47; ++i) replicate(pool, i, 1000);
  const TaskExamples of = examples(pool);
  EXPECT_EQ(of.replicates, 2u);
  EXPECT_EQ(of.unsure, 3);
  EXPECT_EQ(of.examples.size(), 57u) << "hopeless ones need no second replicate";
}

TEST_F(TaskExamplesOf, AreJudgedBesideWhatNoiseLeavesToAnyModel) {
  task_.family = "product";
  Pool pool;
  for (size_t copy = 0; copy < 2; ++copy) {
    for (size_t i = 0; i < 60; ++i) {
      // A quarter of the replicates are disturbed.
      const int64_t ns = 1000 + 10 * static_cast<int64_t>(i);
      replicate(pool, i, (i * 7 + copy * 3) % 4 == 0 ? ns * 13 / 10 : ns);
    }
  }
  TaskExamples of = examples(pool);
  const std::vector<Example> twice = of.examples;
  of.examples.insert(of.examples.end(), twice.begin(), twice.end());  // enough to be judged
  const std::vector<ModelQuality> qualities = judge_models({&of, 1}).value();
  ASSERT_FALSE(qualities.empty());
  EXPECT_EQ(qualities[0].model, "roofline");
  ASSERT_EQ(qualities[0].truth.size(), qualities[0].ranked.size());
  EXPECT_LT(*pairwise_accuracy(qualities[0].truth), 1);
  EXPECT_GT(*pairwise_accuracy(qualities[0].truth), 0.6);
}

}  // namespace
}  // namespace tf::replay
