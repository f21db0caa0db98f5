#include "tuner/session/history/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "compiler/schedule/schedule.h"
#include "database/memory_store.h"
#include "tests/support/tuner/test_problems.h"
#include "tuner/model/roofline/rates.h"
#include "tuner/session/calibrate/calibration_kernels.h"
#include "tuner/session/task.h"
#include "tuner/space/sampling.h"

namespace tf::session {
namespace {

class HistoryTest : public testing::Test {
 protected:
  static Task product(int64_t m, int64_t n, int64_t k) {
    return {.label = "product", .kernel = {.workload = test::matmul_bias_relu(m, n, k)}};
  }
  TaskSpace space_of(const Task& task) { return TaskSpace::create(task, viewpoint_.target, 1, {}).value(); }

  // So many random candidates of the task, the last one measured the fastest. Returns it.
  space::Candidate measure(const Task& task, int count, const std::string& device_class = "local") {
    const TaskSpace space = space_of(task);
    std::vector<space::Candidate> candidates = draw(space, count);
    std::reverse(candidates.begin(), candidates.end());
    record_all(task, space, candidates, device_class);
    return candidates.front();
  }
  // So many random candidates of the task, legal ones.
  std::vector<space::Candidate> draw(const TaskSpace& space, int count) {
    std::vector<space::Candidate> drawn;
    while (static_cast<int>(drawn.size()) < count) {
      space::Candidate candidate = space::sample(space.space(), random_);
      if (space.evaluator().legal({&candidate, 1})[0]) drawn.push_back(std::move(candidate));
    }
    return drawn;
  }
  // As if they had been measured, the first one the fastest; the last one first.
  void record_all(const Task& task, const TaskSpace& space, std::span<const space::Candidate> candidates,
                  const std::string& device_class) {
    EXPECT_TRUE(store_->add_workload({tensor::canonical_text(task.kernel.workload), task.label, 1}).ok());
    for (size_t i = candidates.size(); i-- > 0;) {
      const space::Candidate& candidate = candidates[i];
      database::Measurement record;
      record.problem = tensor::key_for(task.kernel, viewpoint_.target, 1);
      record.schedule = schedule::to_string(space.space().schedule_of(candidate));
      record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
      record.sketch_hash = space.hash_of(candidate);
      record.choices.assign(candidate.point.begin(), candidate.point.end());
      record.samples = {{.total_ns = 10'000 + 1000 * static_cast<int64_t>(i), .iterations = 1}};
      record.device.device_class = device_class;
      record.device.fingerprint = fingerprint_;
      record.job_id = job_;
      record.finished_unix_ns = ++clock_;
      EXPECT_TRUE(store_->insert(record).ok());
    }
  }
  // The peak's calibration kernel read so much on a machine of that class; `turns` of it, if that is another
  // problem.
  void record_peak(const std::string& device_class, double flops_per_s, size_t turns = 0) {
    const CalibrationKernel peak = calibration_kernels_of(viewpoint_.target).front();
    EXPECT_TRUE(store_->add_workload({.text = tensor::canonical_text(peak.task.kernel.workload)}).ok());
    database::Measurement record;
    record.problem = tensor::key_for(peak.task.kernel, viewpoint_.target, 1);
    if (turns > 0) record.problem.binding = "d0=" + std::to_string(turns);
    record.schedule = peak.schedule;
    record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
    record.samples = {{.total_ns = std::llround(peak.amount * 1000 / flops_per_s * 1e9), .iterations = 1000}};
    record.cache_mode = database::CacheMode::kWarm;
    record.device.device_class = device_class;
    record.device.fingerprint = fingerprint_;
    EXPECT_TRUE(store_->insert(record).ok());
  }
  History read() {
    History history;
    EXPECT_TRUE(history.read(*store_, viewpoint_).ok());
    return history;
  }
  std::vector<model::Example> examples() {
    std::vector<model::Example> all;
    read().append_examples(all);
    return all;
  }

  std::unique_ptr<database::Store> store_ = database::make_memory_store();
  Viewpoint viewpoint_{.target = target::parse_target("x86_64:cpu=znver4").value(), .device_class = "local"};
  space::Random random_{5};
  int64_t clock_ = 0, job_ = 1;
  std::string fingerprint_;
};

TEST_F(HistoryTest, GivesTheBestOfATaskLikeItAsASeed) {
  const Task other = product(128, 64, 64), own = product(64, 64, 64);
  const space::Candidate best = measure(other, 20);
  const TaskSpace from = space_of(other), to = space_of(own);
  const std::vector<space::Candidate> seeds = read().seeds_for(to);
  ASSERT_FALSE(seeds.empty());
  EXPECT_EQ(from.space().sketches[static_cast<size_t>(best.sketch)].family,
            to.space().sketches[static_cast<size_t>(seeds[0].sketch)].family);
  for (const space::Candidate& seed : seeds) EXPECT_TRUE(to.evaluator().legal({&seed, 1})[0]);
}

TEST_F(HistoryTest, OfOneArchitectureOfGpusSeedsAnother) {
  const Task task = product(512, 512, 512);
  viewpoint_.target = target::parse_target("cuda:arch=sm_86").value();
  const TaskSpace there = space_of(task);
  const space::Candidate best = measure(task, 20);
  viewpoint_.target = target::parse_target("cuda:arch=sm_89").value();
  viewpoint_.own = {tensor::key_for(task.kernel, viewpoint_.target, 1)};
  viewpoint_.device_class = "another desk";
  const TaskSpace here = space_of(task);
  const std::vector<space::Candidate> seeds = read().seeds_for(here);
  ASSERT_FALSE(seeds.empty());
  EXPECT_EQ(schedule::to_string(here.space().schedule_of(seeds.front())),
            schedule::to_string(there.space().schedule_of(best)));
  viewpoint_.target = target::parse_target("opencl").value();
  EXPECT_TRUE(examples().empty()) << "another language's device says nothing of it";
}

TEST_F(HistoryTest, PrefersNearTasksAndTheViewpointsDevice) {
  measure(product(2048, 512, 512), 20);
  const Task near = product(64, 64, 64);
  measure(near, 20, "another desk");
  viewpoint_.device_class = "another desk";
  const std::vector<space::Candidate> seeds = read().seeds_for(space_of(product(64, 64, 96)));
  store_ = database::make_memory_store();
  random_.seed(5);
  measure(product(2048, 512, 512), 20);  // draws what it drew
  store_ = database::make_memory_store();
  measure(near, 20, "another desk");
  const std::vector<space::Candidate> of_near = read().seeds_for(space_of(product(64, 64, 96)));
  ASSERT_FALSE(seeds.empty());
  ASSERT_FALSE(of_near.empty());
  EXPECT_EQ(seeds[0], of_near[0]);
}

TEST_F(HistoryTest, ComparesOnlyCandidatesOfOneTaskAndDevice) {
  measure(product(64, 64, 64), 10);
  measure(product(64, 64, 64), 10, "another desk");
  measure(product(128, 64, 64), 10);
  std::map<int, double> fastest;
  for (const model::Example& example : examples())
    fastest[example.task] = std::max(fastest[example.task], example.speed);
  EXPECT_EQ(fastest.size(), 3u);
  for (const auto& [task, speed] : fastest) EXPECT_EQ(speed, 1);
}

TEST_F(HistoryTest, LeavesOutWhatIsBeingTunedAndOtherMachines) {
  const Task own = product(64, 64, 64);
  measure(own, 10);
  viewpoint_.own = {tensor::key_for(own.kernel, viewpoint_.target, 1)};
  EXPECT_TRUE(examples().empty());
  viewpoint_.own.clear();
  EXPECT_EQ(examples().size(), 10u);
  viewpoint_.target = target::parse_target("aarch64:cpu=cortex-a72").value();
  EXPECT_TRUE(examples().empty());
}

TEST_F(HistoryTest, LearnsOfTheTasksThatAreTunedWhatWasMeasuredElsewhere) {
  const Task own = product(64, 64, 64);
  viewpoint_.own = {tensor::key_for(own.kernel, viewpoint_.target, 1)};
  const space::Candidate best = measure(own, 10, "another desk");
  EXPECT_EQ(examples().size(), 10u);
  const std::vector<space::Candidate> seeds = read().seeds_for(space_of(own));
  ASSERT_FALSE(seeds.empty());
  EXPECT_EQ(seeds[0], best);
  store_ = database::make_memory_store();
  job_ = 0;  // as imports have none
  measure(own, 10);
  EXPECT_EQ(examples().size(), 10u);
  store_ = database::make_memory_store();
  job_ = 1;
  measure(own, 10);
  EXPECT_TRUE(examples().empty());
  viewpoint_.fingerprint = "another machine";
  EXPECT_EQ(examples().size(), 10u);
}

TEST_F(HistoryTest, KeepsTimesOfTwoMachinesOfAClassApart) {
  measure(product(64, 64, 64), 10);
  fingerprint_ = "another machine";
  measure(product(64, 64, 64), 10);
  std::set<int> tasks;
  for (const model::Example& example : examples()) tasks.insert(example.task);
  EXPECT_EQ(tasks.size(), 2u);
}

TEST_F(HistoryTest, LeavesNoTaskOutForCalibration) {
  measure(product(64, 64, 64), 10);
  for (size_t i = 0; i < History::kProblems; ++i) record_peak("local", 1e9 + static_cast<double>(i), i + 1);
  EXPECT_EQ(examples().size(), 10u);
}

// So many times the usual clock, as a binary logarithm that is taken off each estimate.
TEST_F(HistoryTest, EstimatesWhatRanElsewhereByWhatThatMachineReaches) {
  measure(product(64, 64, 64), 10, "board");
  const std::vector<model::Example> usual = examples();
  const auto expect_faster = [&](float by) {
    const std::vector<model::Example> now = examples();
    ASSERT_EQ(now.size(), usual.size());
    for (size_t i = 0; i < now.size(); ++i)
      EXPECT_NEAR(now[i].features[model::kRooflineFeature], usual[i].features[model::kRooflineFeature] - by,
                  5e-3);
  };
  const double usual_flops_per_s =
      model::flops_a_cycle(viewpoint_.target) * model::rates_of(viewpoint_.target).hertz;
  viewpoint_.measured.flops_per_s = 2 * usual_flops_per_s;
  expect_faster(1);  // nothing is known of boards, but that they have this machine's target
  record_peak("board", 4 * usual_flops_per_s);
  expect_faster(2);
}

// One task, whose space is the same for both.
TEST_F(HistoryTest, EstimatesForEachOfTwoMachinesByItsOwnRates) {
  const double usual_flops_per_s =
      model::flops_a_cycle(viewpoint_.target) * model::rates_of(viewpoint_.target).hertz;
  const Task task = product(64, 64, 64);
  const TaskSpace space = space_of(task);
  const std::vector<space::Candidate> candidates = draw(space, 10);
  record_all(task, space, candidates, "board");
  const std::vector<model::Example> usual = examples();
  record_all(task, space, candidates, "desk");
  record_peak("board", 2 * usual_flops_per_s);
  record_peak("desk", 8 * usual_flops_per_s);
  const std::vector<model::Example> both = examples();
  ASSERT_EQ(usual.size(), candidates.size());
  ASSERT_EQ(both.size(), 2 * candidates.size());
  for (size_t i = 0; i < usual.size(); ++i) {
    const float roofline = usual[i].features[model::kRooflineFeature];
    EXPECT_NEAR(both[i].features[model::kRooflineFeature], roofline - 1, 5e-3);
    EXPECT_NEAR(both[usual.size() + i].features[model::kRooflineFeature], roofline - 3, 5e-2);
  }
}

TEST_F(HistoryTest, TakesNoRecordForAnotherCandidatesThanItsSchedules) {
  const Task other = product(64, 64, 64);
  const TaskSpace space = space_of(other);
  const space::Candidate candidate = draw(space, 1).front();
  database::Measurement record;
  record.schedule = schedule::to_string(space.space().schedule_of(candidate));
  record.semantics_version = static_cast<uint32_t>(schedule::kSemanticsVersion);
  record.sketch_hash = space.hash_of(candidate);
  record.choices.assign(candidate.point.begin(), candidate.point.end());
  EXPECT_EQ(space.candidate_of(record), candidate);
  record.schedule += " ";
  EXPECT_EQ(space.candidate_of(record), std::nullopt);
}

TEST_F(HistoryTest, TeachesAModelWhatWasFast) {
  measure(product(64, 64, 64), 60);
  const std::shared_ptr<const model::CostModel> prior = prior_of(read(), {});
  ASSERT_NE(prior, nullptr);
  std::vector<model::Features> rows;
  for (const model::Example& example : examples()) rows.push_back(example.features);
  const std::vector<float> scores = prior->score(rows);  // the fastest first
  int in_order = 0, pairs = 0;
  for (size_t i = 0; i < scores.size(); ++i)
    for (size_t j = i + 10; j < scores.size(); ++j, ++pairs) in_order += scores[i] > scores[j];
  EXPECT_GT(in_order, pairs * 8 / 10);
  // A model without examples of its own says what its prior does.
  const model::XGBoostModel corrected({.prior = prior});
  ASSERT_TRUE(corrected.is_trained());
  EXPECT_EQ(corrected.score(rows), scores);
  EXPECT_EQ(prior_of(History(), {}), nullptr);
}

TEST_F(HistoryTest, HoldsOutAWorkloadWithAllItsDevices) {
  measure(product(64, 64, 64), 10);
  measure(product(64, 64, 64), 10, "another desk");
  measure(product(128, 64, 64), 10);
  std::map<int, std::set<int>> tasks;  // by group
  for (const model::Example& example : examples()) tasks[example.group].insert(example.task);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks.at(0).size() + tasks.at(1).size(), 3u);
}

// Each of two kernels teaches the opposite of the other, which no trees carry over from one to the other,
// only from a kernel on one desk to the same on the next.
TEST_F(HistoryTest, TakesNoTreesThatHelpOnlyWorkloadsThatTheySaw) {
  const Task tasks[] = {product(64, 64, 64), product(512, 128, 256)};
  std::vector<model::Features> rows;
  for (const Task& task : tasks) {
    const TaskSpace space = space_of(task);
    std::vector<space::Candidate> candidates = draw(space, 60);
    const bool reversed = &task != tasks;
    std::stable_sort(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
      const double of_a = space.evaluator().judge(a)->roofline_seconds;
      const double of_b = space.evaluator().judge(b)->roofline_seconds;
      return reversed ? of_a > of_b : of_a < of_b;
    });
    // Candidates that the roofline model finds equal would let any trees beat it, by luck.
    candidates.erase(std::unique(candidates.begin(), candidates.end(),
                                 [&](const auto& a, const auto& b) {
                                   return space.evaluator().judge(a)->roofline_seconds ==
                                          space.evaluator().judge(b)->roofline_seconds;
                                 }),
                     candidates.end());
    for (const char* desk : {"local", "another desk"}) record_all(task, space, candidates, desk);
    for (const space::Candidate& candidate : candidates)
      rows.push_back(space.evaluator().judge(candidate)->features);
  }
  const std::shared_ptr<const model::CostModel> prior = prior_of(read(), {});
  ASSERT_NE(prior, nullptr);
  const std::vector<float> scores = prior->score(rows);
  for (size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(scores[i], -rows[i][model::kRooflineFeature]) << "what the roofline model says";
}

}  // namespace
}  // namespace tf::session
