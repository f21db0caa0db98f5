// What the model lets through can be compiled: a point that asks for more than the device has is refused before.

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "compiler/backends/gpu/gpu_source.h"
#include "compiler/backends/opencl/opencl_dialect.h"
#include "compiler/passes/lower.h"
#include "compiler/recipes/recipes.h"
#include "tests/unit/compiler/passes/small_workloads.h"
#include "tuner/model/evaluator.h"
#include "tuner/space/sampling.h"
#include "tuner/space/space.h"

namespace tf::model {
namespace {

TEST(GpuPoints, AreRefusedBeforeCompilationOrHaveCode) {
  const target::Target target = *target::parse_target("opencl");
  space::Random random(3);
  int compiled = 0, large = 0;
  for (const test::SmallWorkload& small : test::small_workloads()) {
    const tensor::Workload workload = test::build_small(small);
    const space::DesignSpace space = space::generate_space({.workload = workload, .target = target});
    const Evaluator evaluator(space, target, 1);
    for (const recipes::Sketch& sketch : space.sketches) {
      schedule::State state(*sketch.workload, recipes::open_sizes(sketch));
      for (const schedule::Step& step : sketch.steps.steps) {
        const std::optional<schedule::StepError> error = state.apply(step);
        ASSERT_FALSE(error.has_value())
            << small.name << ", " << sketch.family << ": " << schedule::explain(*error, step, state);
      }
    }
    std::vector<int> judged(space.sketches.size());
    for (int i = 0; i < 60 * static_cast<int>(space.sketches.size()); ++i) {
      const space::Candidate candidate = space::sample(space, random);
      if (!evaluator.judge(candidate)) continue;
      const auto sketch = static_cast<size_t>(candidate.sketch);
      if (++judged[sketch] > 3) continue;
      const schedule::Schedule schedule = recipes::instantiate(space.sketches[sketch], candidate.point);
      const auto lowered = passes::lower(workload, schedule, {}, {.pipeline = passes::gpu_pipeline()});
      ASSERT_TRUE(lowered.ok()) << small.name << ": " << lowered.status() << "\n"
                                << schedule::to_string(schedule);
      const auto source = backends::gpu_source(lowered->function, target, backends::opencl_dialect());
      // What the model counts too low, lowering counts exactly.
      const bool is_large = !source.ok() && absl::StrContains(source.status().message(), "a block of");
      EXPECT_TRUE(source.ok() || is_large) << small.name << ": " << source.status() << "\n"
                                           << schedule::to_string(schedule);
      ++(source.ok() ? compiled : large);
    }
    for (size_t sketch = 0; sketch < judged.size(); ++sketch)
      EXPECT_GT(judged[sketch], 0) << small.name << ", " << space.sketches[sketch].family;
  }
  EXPECT_GT(compiled, 100);
  EXPECT_LT(large, compiled / 20);
}

}  // namespace
}  // namespace tf::model
