#include "compiler/recipes/cpu/flat.h"

#include <algorithm>

#include "compiler/recipes/emit/flat_stage.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {
namespace {

// Vector lengths: powers of two from half a register to four of them, none longer than the axis.
std::vector<int64_t> lane_choices(int64_t extent, const target::Target& target) {
  std::vector<int64_t> choices;
  for (int64_t lanes = std::max(2, target.fp32_lanes() / 2); lanes <= 4 * target.fp32_lanes(); lanes *= 2) {
    if (lanes <= extent) choices.push_back(lanes);
  }
  return choices;
}

}  // namespace

// Every stage by itself, but where nothing is summed: then all are computed in the outputs.
std::vector<Sketch> flat(const tensor::KernelSpec& kernel) {
  const tensor::Workload& workload = kernel.workload;
  const bool inline_all = structure_of(workload).reductions.empty();
  Sketch sketch("generated flat", kernel);
  Steps& steps = sketch.steps.steps;
  for (size_t i = 0; i < workload.stages.size(); ++i) {
    const tensor::Stage& stage = workload.stages[i];
    const std::string name = stage_name(static_cast<int>(i));
    const auto output = std::ranges::find_if(
        workload.outputs, [&](const tensor::Buffer& b) { return b.same_as(stage.output); });
    const bool is_output = output != workload.outputs.end();
    if (inline_all && !is_output) {
      steps.push_back(schedule::Inline{name});
      continue;
    }
    const tensor::Layout layout =
        is_output ? kernel.ports.output(static_cast<size_t>(output - workload.outputs.begin()))
                  : tensor::Layout{};
    FlatLoops loops = flat_loops(kernel, stage, name, layout);
    if (loops.moved_from) {
      loops.lanes = sketch.open("side_" + name, {4, 8, 16, 32, 64}, loops.lanes.value);
    } else if (loops.rank > 0 && loops.vectorized) {
      const int64_t extent = extent_of(stage.axes[static_cast<size_t>(loops.vector_axis)]);
      loops.lanes = sketch.open("lanes_" + name, lane_choices(extent, kernel.target), loops.lanes.value);
    }
    append_flat_loops(loops, steps);
  }
  return {std::move(sketch)};
}

}  // namespace tf::recipes
