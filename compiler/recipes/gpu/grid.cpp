#include "compiler/recipes/gpu/grid.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include "base/whole_division.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

constexpr std::array kGridAxes = {Annotation::kGridX, Annotation::kGridY, Annotation::kGridZ};

// Iterations of the loops of that annotation; 1 without any.
int64_t extent_along(const StageState& stage, Annotation annotation) {
  const auto loop = std::ranges::find(stage.loops, annotation, &Loop::annotation);
  return loop == stage.loops.end() || loop->extent.is_open() ? 1 : static_cast<int64_t>(loop->extent);
}

int64_t threads_of(const StageState& stage) {
  return extent_along(stage, Annotation::kThreadX) * extent_along(stage, Annotation::kThreadY) *
         extent_along(stage, Annotation::kThreadZ);
}

std::array<int64_t, 3> grid_of(const StageState& stage) {
  std::array<int64_t, 3> blocks = {};
  std::ranges::transform(kGridAxes, blocks.begin(),
                         [&](Annotation axis) { return extent_along(stage, axis); });
  return blocks;
}

void swap_with_x(const std::string& stage, Annotation axis, Steps& steps) {
  for (Step& step : steps) {
    auto* annotate = std::get_if<Annotate>(&step);
    if (annotate == nullptr || annotate->stage != stage) continue;
    if (annotate->annotation == axis)
      annotate->annotation = Annotation::kGridX;
    else if (annotate->annotation == Annotation::kGridX)
      annotate->annotation = axis;
  }
}

// Of the stages in shared memory that a launch of `root` computes.
int64_t shared_bytes_of(const State& state, const StageState& root) {
  int64_t bytes = 0;
  for (const StageState& stage : state.stages()) {
    if (stage.place != StageState::Place::kAt || stage.scope != tensor::Scope::kShared ||
        !state.data().is_inside(stage, root, 0))
      continue;
    int64_t own = tensor::element_bytes(stage.stage.output->element);
    for (size_t d = 0; d < stage.region.size(); ++d) {
      int64_t extent = stage.region[d].is_open() ? 1 : static_cast<int64_t>(stage.region[d]);
      const auto pitch = state.data().pitches.find(stage.name);
      if (d + 1 == stage.region.size() && pitch != state.data().pitches.end())
        extent = round_up(extent, pitch->second.factor) + pitch->second.offset;
      own *= extent;
    }
    const StageState& holder = *state.data().find_stage(stage.consumer);
    const bool ring = holder.pipelined_loop == stage.consumer_loop && !stage.is_reduction() &&
                      !holder.pipeline_stages.is_open();
    bytes += ring ? own * static_cast<int64_t>(holder.pipeline_stages) : own;
  }
  return bytes;
}

}  // namespace

int64_t shared_bytes_of(const Sketch& sketch) {
  const absl::StatusOr<State> state =
      schedule::apply(*sketch.workload, instantiate(sketch, sketch.default_point()));
  int64_t most = 0;
  if (!state.ok()) return most;
  for (const StageState& stage : state->stages())
    if (stage.place == StageState::Place::kRoot) most = std::max(most, shared_bytes_of(*state, stage));
  return most;
}

std::optional<Sketch> launched_on(const target::Target& target, Sketch sketch) {
  const absl::StatusOr<State> state =
      schedule::apply(*sketch.workload, instantiate(sketch, sketch.default_point()));
  if (!state.ok()) return std::nullopt;
  const int64_t most = target.gpu.grid_yz_blocks;
  bool swapped = false;
  for (const StageState& stage : state->stages()) {
    if (stage.place != StageState::Place::kRoot) continue;
    if (threads_of(stage) > target.gpu.block_threads ||
        shared_bytes_of(*state, stage) > target.gpu.shared_bytes)
      return std::nullopt;
    std::array<int64_t, 3> blocks = grid_of(stage);
    if (most == 0 || std::max(blocks[1], blocks[2]) <= most) continue;
    const auto axis = static_cast<size_t>(std::ranges::max_element(blocks) - blocks.begin());
    std::swap(blocks[0], blocks[axis]);
    if (std::max(blocks[1], blocks[2]) > most) return std::nullopt;
    swap_with_x(stage.name, kGridAxes[axis], sketch.steps.steps);
    swapped = true;
  }
  // With other axes another step may be illegal, such as a raster with stages between its loops.
  if (swapped && !schedule::apply(*sketch.workload, instantiate(sketch, sketch.default_point())).ok())
    return std::nullopt;
  return sketch;
}

}  // namespace tf::recipes
