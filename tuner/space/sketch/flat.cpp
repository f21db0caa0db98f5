#include "tuner/space/sketch/flat.h"

#include <algorithm>

#include "compiler/schedule/flat_stage.h"
#include "compiler/schedule/structure.h"
#include "compiler/schedule/tiling.h"
#include "tuner/space/parameters.h"
#include "tuner/space/sketch/tiled_reduction.h"

namespace tf::space {
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

Sketch generated_flat(const tensor::KernelSpec& spec) {
  const tensor::Workload& workload = spec.workload;
  const tensor::PortLayouts& ports = spec.ports;
  const bool inline_all = schedule::structure_of(workload).reductions.empty();
  Sketch sketch;
  sketch.family = "generated flat";
  sketch.workload = std::make_shared<const tensor::Workload>(workload);
  for (size_t i = 0; i < workload.stages.size(); ++i) {
    const tensor::Stage& stage = workload.stages[i];
    const std::string name = schedule::stage_name(static_cast<int>(i));
    const auto output = std::find_if(workload.outputs.begin(), workload.outputs.end(),
                                     [&](const tensor::Buffer& b) { return b.get() == stage.output.get(); });
    const bool is_output = output != workload.outputs.end();
    if (inline_all && !is_output) {
      sketch.steps.steps.push_back(schedule::Inline{name});
      continue;
    }
    if (stage.axes.empty()) continue;
    const tensor::Layout layout =
        is_output ? ports.output(static_cast<size_t>(output - workload.outputs.begin())) : tensor::Layout{};
    schedule::FlatLoops loops;
    loops.stage = name;
    loops.rank = static_cast<int>(stage.axes.size());
    loops.reduce_rank = static_cast<int>(stage.reduce_axes.size());
    loops.vector_axis = schedule::vector_axis(stage, layout);
    loops.parallel = spec.threads > 1;
    // What would be gathered is moved in squares.
    const bool as_it_stands = !inline_all || workload.stages.size() == 1;
    const std::optional<int> from =
        as_it_stands ? schedule::gathered_along(workload, stage, loops.vector_axis, ports) : std::nullopt;
    if (from.value_or(-1) >= 0) {
      schedule::SquareCopy squares{.stage = name,
                                   .rank = loops.rank,
                                   .to = loops.vector_axis,
                                   .from = *from,
                                   .parallel = loops.parallel};
      squares.side = schedule::Size::open(static_cast<int>(sketch.parameters.size()), 0);
      sketch.parameters.push_back(scalar_parameter("side_" + name, {4, 8, 16, 32, 64}));
      schedule::append_squares(squares, sketch.steps.steps);
      continue;
    }
    const std::vector<int64_t> lanes =
        lane_choices(extent_of(stage.axes[static_cast<size_t>(loops.vector_axis)]), spec.target);
    loops.vectorized = !lanes.empty();
    if (loops.vectorized) {
      loops.lanes = schedule::Size::open(static_cast<int>(sketch.parameters.size()), 0);
      sketch.parameters.push_back(scalar_parameter("lanes_" + name, lanes));
    }
    schedule::append_flat_loops(loops, sketch.steps.steps);
  }
  return sketch;
}

}  // namespace tf::space
