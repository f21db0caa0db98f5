// Constants of the roofline model that measurements give back.

#include "tests/bench/search/replay/roofline_fit.h"

#include <gtest/gtest.h>

#include "compiler/schedule/schedule.h"
#include "tests/bench/search/replay/named_constants.h"
#include "tests/support/tuner/test_problems.h"
#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf::replay {
namespace {

// Candidates that take what the roofline model says they take by these constants.
MeasuredTask measured_by(const model::RooflineConstants& constants) {
  MeasuredTask task{.target = target::parse_target("x86_64:cpu=znver4").value(),
                    .options = {.reuse_distance_bytes = 96 << 20},
                    .candidates = {}};
  const tensor::Workload workload = test::matmul_bias_relu(64, 512, 256);
  const space::DesignSpace space = space::generate_space({.workload = workload, .target = task.target});
  model::RooflineOptions options = task.options;
  options.constants = constants;
  space::Random random(5);
  while (task.candidates.size() < 40) {
    const auto state = schedule::apply(workload, space.schedule_of(space::sample(space, random)));
    if (!state.ok()) continue;
    std::vector<model::Nest> nests = model::summarize(*state, space.ports, task.target);
    const double seconds = model::roofline_of(nests, task.target, options).seconds.constant();
    task.candidates.push_back({std::move(nests), seconds});
  }
  return task;
}

TEST(Fit, FindsWhatMadeTheTimes) {
  model::RooflineConstants truth = expected_constants();
  truth.fma_latency = 12;
  const MeasuredTask task = measured_by(truth);
  const MeasuredTask* const tasks[] = {&task};
  const model::RooflineConstants expected = expected_constants();
  const model::RooflineConstants found = fit(tasks, expected, 4);
  EXPECT_GT(fitness(tasks, found, expected), fitness(tasks, expected, expected) + 0.01);
  EXPECT_GT(found.fma_latency, 1.5 * expected.fma_latency);
}

TEST(Fit, LeavesWhatNoTaskDependsOnAsItIsExpected) {
  model::RooflineConstants truth = expected_constants();
  truth.fma_latency = 12;
  const MeasuredTask task = measured_by(truth);
  const MeasuredTask* const tasks[] = {&task};
  EXPECT_EQ(fit(tasks, expected_constants(), 2).shared.low, expected_constants().shared.low)
      << "everything fits the shared cache";
}

TEST(Fit, StaysWhereTimesAreAsExpected) {
  const MeasuredTask task = measured_by(expected_constants());
  const MeasuredTask* const tasks[] = {&task};
  EXPECT_EQ(fitness(tasks, expected_constants(), expected_constants()), 1);
  EXPECT_EQ(fit(tasks, expected_constants(), 1).l2_bytes, expected_constants().l2_bytes);
}

TEST(RooflineConstants, AreAllNamed) {
  // Doubles one after another: a new one is named, too, or is never fitted.
  EXPECT_EQ(roofline_constants().size(), sizeof(model::RooflineConstants) / sizeof(double));
  model::RooflineConstants constants;
  double next = 1;
  for (const NamedConstant& name : roofline_constants()) name.of(constants) = next++;
  next = 1;
  for (const NamedConstant& name : roofline_constants()) EXPECT_EQ(name.of(constants), next++) << name.name;
}

}  // namespace
}  // namespace tf::replay
