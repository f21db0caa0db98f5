#include "compiler/recipes/gpu/transposes.h"

#include <algorithm>

#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/neighbours.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Stage;
using tensor::Workload;

// Of fewer, a tile would be mostly empty.
constexpr int64_t kLeastSide = 8, kLeastMoved = 1 << 10;

// Rows and columns of threads, and how many rows of the tile each has: all that the target has room for.
std::vector<Choice> tile_choices(const tensor::KernelSpec& kernel, int64_t bytes) {
  std::vector<Choice> choices;
  for (const int64_t columns : {16, 32, 64})
    for (const int64_t rows : {4, 8, 16, 32})
      for (const int64_t turns : {1, 2, 4, 8})
        if (columns * rows <= kernel.target.gpu.block_threads &&
            columns * (rows * turns + 4) * bytes <= kernel.target.gpu.shared_bytes)
          choices.push_back({turns, rows, columns});
  return choices;
}

// The tile of one input, as `reader` reads it in its loop `thread`.
void append_tile(const Workload& workload, int input, const std::string& reader, const std::string& thread,
                 const std::vector<Size>& tile, Steps& steps) {
  const tensor::Buffer& buffer = workload.inputs[static_cast<size_t>(input)].buffer;
  const std::string source = input_name(input), copy = source + ".pack";
  steps.push_back(CacheRead{source, reader, {}, tensor::Scope::kGlobal});
  steps.push_back(ComputeAt{copy, reader, thread, tensor::Scope::kShared});
  // Columns of as many words as no power of two divides.
  const int64_t word = std::max<int64_t>(1, 4 / tensor::element_bytes(buffer->element));
  steps.push_back(StorageAlign{copy, buffer->rank() - 2, word, word});
  const std::string all = append_fuse(copy, static_cast<size_t>(buffer->rank()), steps);
  steps.push_back(Split{copy, all, {tile[1], tile[2]}, Tail::kGuard});
  steps.push_back(Annotate{copy, all + ".1", Annotation::kThreadY});
  steps.push_back(Annotate{copy, all + ".2", Annotation::kThreadX});
}

}  // namespace

std::vector<Sketch> transposes_on_gpu(const tensor::KernelSpec& kernel) {
  const Workload& workload = kernel.workload;
  const Structure structure = structure_of(workload);
  if (!structure.reductions.empty() || workload.outputs.size() != 1 ||
      structure.output + 1 != static_cast<int>(workload.stages.size()))
    return {};
  Sketch sketch("transposes", kernel);
  Steps& steps = sketch.steps.steps;
  for (int stage = 0; stage < structure.output; ++stage) steps.push_back(Inline{stage_name(stage)});
  const auto inlined = schedule::apply(workload, sketch.steps);
  if (!inlined.ok()) return {};
  const std::string name = stage_name(structure.output);
  const Stage& stage = inlined->data().find_stage(name)->stage;
  std::vector<TurnedInput> turned = turned_inputs(kernel, stage);
  if (turned.empty()) return {};
  const auto along = static_cast<size_t>(turned.front().along);
  std::erase_if(turned, [&](const TurnedInput& each) { return static_cast<size_t>(each.along) != along; });
  const auto last = static_cast<size_t>(vector_axis(stage, {}));
  const int64_t rows = extent_of(stage.axes[along]), columns = extent_of(stage.axes[last]);
  if (rows < kLeastSide || columns < kLeastSide || rows * columns < kLeastMoved) return {};
  int64_t bytes = 0;
  for (const TurnedInput& each : turned)
    bytes += tensor::element_bytes(workload.inputs[static_cast<size_t>(each.input)].buffer->element);
  const std::vector<Choice> choices = tile_choices(kernel, bytes);
  Choice standard = {4, 8, 32};
  if (rows <= 16) standard = {2, 8, 32};
  if (columns <= 16) standard[2] = 16;
  if (std::ranges::count(choices, standard) == 0) return {};
  const std::vector<Size> tile = sketch.open({.name = "tile", .choices = choices}, standard);

  const std::string row = axis_name(along), column = axis_name(last);
  steps.push_back(Split{name, row, {tile[0], tile[1]}, Tail::kGuard});
  steps.push_back(Split{name, column, {tile[2]}, Tail::kGuard});
  std::vector<std::string> grid;
  for (size_t axis = 0; axis < stage.axes.size(); ++axis)
    grid.push_back(axis == along || axis == last ? axis_name(axis) + ".0" : axis_name(axis));
  std::vector<std::string> order = grid;
  order.insert(order.end(), {row + ".2", column + ".1", row + ".1"});
  steps.push_back(Reorder{name, order});
  const std::string blocks = append_fuse(name, grid, steps);
  steps.push_back(Annotate{name, blocks, Annotation::kGridX});
  steps.push_back(Annotate{name, row + ".2", Annotation::kThreadY});
  steps.push_back(Annotate{name, column + ".1", Annotation::kThreadX});
  steps.push_back(Annotate{name, row + ".1", Annotation::kUnroll});
  for (const TurnedInput& each : turned) append_tile(workload, each.input, name, column + ".1", tile, steps);
  return {std::move(sketch)};
}

}  // namespace tf::recipes
