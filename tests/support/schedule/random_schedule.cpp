#include "tests/support/schedule/random_schedule.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/support/schedule/schedule_draws.h"

namespace tf::test {
namespace {

// A product of gathered matrices, at once or in parts.
schedule::Step random_matrices(const schedule::StageState& stage, Draws& draws) {
  schedule::Matrices step{stage.name, {}, {}, draws.one_in(2), draws.one_in(2) ? 0 : 1 + draws.below(6)};
  for (const schedule::Loop& loop : stage.loops)
    if (loop.reduce || draws.one_in(2)) (loop.reduce ? step.terms : step.rows).push_back(loop.name);
  draws.shuffle(step.terms);
  return step;
}

// Of stages that are a softmax of rows and what it weights: all that is element-wise as part of these, which then are of blocks.
std::vector<schedule::Step> random_rescale(const schedule::State& state, Draws& draws) {
  std::vector<schedule::Step> steps;
  std::vector<std::string> sums;
  std::string maximum;
  for (const schedule::StageState& stage : state.stages()) {
    if (!stage.is_reduction()) {
      if (!state.data().is_output(stage)) steps.push_back(schedule::Inline{stage.name});
    } else if (stage.stage.combiner == tensor::Combiner::kMax) {
      maximum = stage.name;
    } else {
      sums.push_back(stage.name);
    }
  }
  if (maximum.empty() || sums.size() < 2) return {};
  const std::string& sum = sums[sums.size() - 2];
  steps.push_back(schedule::Rescale{maximum, sum, draws.one_in(3) ? sum : sums.back(), 1 + draws.below(12)});
  if (draws.one_in(3)) steps.push_back(schedule::Recompute{sums.front(), sums.back()});
  return steps;
}

}  // namespace

schedule::Schedule random_schedule(const tensor::Workload& workload, uint64_t seed, int steps) {
  Draws draws(seed);
  schedule::State state(workload);
  schedule::Schedule schedule;
  const int64_t wanted = draws.below(steps + 1);
  // The steps that change what is computed come first if at all: later they are seldom legal.
  if (draws.one_in(3)) {
    const std::string stage = draws.of(state.stages()).name;
    schedule::Step first = schedule::Winograd{stage, 2 + 2 * draws.below(3)};
    if (draws.one_in(2)) first = schedule::Offset{stage, draws.one_in(2) ? "p0" : "p1", 128};
    if (!state.apply(first)) schedule.steps.push_back(first);
  }
  Draws others(seed ^ 0x2545f4914f6cdd1du);  // which leave those below as they are
  if (others.one_in(4)) {
    const schedule::Step gathered = random_matrices(others.of(state.stages()), others);
    if (!state.apply(gathered)) schedule.steps.push_back(gathered);
  }
  if (Draws rows(seed ^ 0x6a09e667f3bcc909u); rows.one_in(4)) {
    schedule::State tried = state;
    const std::vector<schedule::Step> blocks = random_rescale(state, rows);
    if (std::ranges::all_of(blocks, [&](const schedule::Step& step) { return !tried.apply(step); })) {
      state = tried;
      schedule.steps.insert(schedule.steps.end(), blocks.begin(), blocks.end());
    }
  }
  for (int tries = 0; tries < 10 * steps && static_cast<int64_t>(schedule.steps.size()) < wanted; ++tries) {
    const std::optional<schedule::Step> step = ScheduleDraws(state, draws).step();
    if (step && !state.apply(*step)) schedule.steps.push_back(*step);
  }
  return schedule;
}

tensor::PortLayouts random_ports(const tensor::Workload& workload, uint64_t seed) {
  Draws draws(seed ^ 0x9e3779b97f4a7c15u);
  tensor::PortLayouts ports;
  if (draws.one_in(3)) return ports;
  for (const tensor::Input& input : workload.inputs)
    if (!input.constant) ports.inputs.push_back(random_layout(input.buffer->rank(), draws));
  for (const tensor::Buffer& output : workload.outputs)
    ports.outputs.push_back(random_layout(output->rank(), draws));
  return ports;
}

}  // namespace tf::test
