#include "compiler/recipes/gpu/flat.h"

#include <algorithm>

#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/neighbours.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Stage;
using tensor::Workload;

constexpr int64_t kDefaultThreads = 256, kOneWarp = 32;
constexpr int64_t kMostBytes = 16;  // that one instruction loads or stores
// Of so many elements there are enough vectors, or enough for several a thread, to keep all of a GPU busy.
constexpr int64_t kWorthVectors = 1 << 16, kWorthItems = 1 << 22;

std::vector<int64_t> thread_choices(const target::Target& target) {
  std::vector<int64_t> choices;
  for (int64_t threads = std::max(target.gpu.warp_threads, 1); threads <= target.gpu.block_threads;
       threads *= 2)
    choices.push_back(threads);
  return choices;
}

// Lengths of vectors that stay within runs of neighbours.
std::vector<int64_t> lane_choices(const Neighbours& neighbours) {
  std::vector<int64_t> choices = {1};
  for (int64_t lanes = 2; lanes * neighbours.least_bytes <= kMostBytes; lanes *= 2)
    if (neighbours.run == 0 || neighbours.run % lanes == 0) choices.push_back(lanes);
  return choices;
}

// All loops as one, neighbours in memory next to each other.
std::string append_fuse_in_memory(const tensor::KernelSpec& kernel, const Stage& stage,
                                  const std::string& name, Steps& steps) {
  const std::optional<std::vector<size_t>> order = memory_order(kernel, *stage.output);
  if (!order || std::ranges::is_sorted(*order)) return append_fuse(name, stage.axes.size(), steps);
  std::vector<std::string> loops;
  for (const size_t axis : *order) loops.push_back(axis_name(axis));
  steps.push_back(Reorder{name, loops});
  return append_fuse(name, loops, steps);
}

}  // namespace

std::string append_flat_launch(const tensor::KernelSpec& kernel, const Stage& stage, const std::string& name,
                               Sketch& sketch) {
  Steps& steps = sketch.steps.steps;
  int64_t elements = 1;
  for (const tensor::Axis& axis : stage.axes) elements *= extent_of(axis);
  const std::string all = append_fuse_in_memory(kernel, stage, name, steps);
  const std::vector<int64_t> choices = thread_choices(kernel.target);
  const bool adds_up = !stage.reduce_axes.empty();
  int64_t lanes = 1, items = 1;
  std::vector<int64_t> lengths = {1};
  if (!adds_up) {
    const Neighbours neighbours = neighbours_of(kernel, stage);
    lengths = lane_choices(neighbours);
    for (const int64_t length : lengths)
      if (elements >= kWorthVectors && length * neighbours.most_bytes <= kMostBytes) lanes = length;
    if (elements / lanes >= kWorthItems) items = 4;
  }
  int64_t threads = choices.empty() ? 1 : std::min(kDefaultThreads, choices.back());
  while (threads > kOneWarp && threads / 2 * lanes * items >= elements) threads /= 2;
  const Size block = sketch.open("threads_" + name, choices, threads);
  if (adds_up) {
    steps.push_back(Split{name, all, {block}, Tail::kGuard});
    steps.push_back(Annotate{name, all + ".0", Annotation::kGridX});
    steps.push_back(Annotate{name, all + ".1", Annotation::kThreadX});
    return all + ".1";
  }
  const Size turns = sketch.open("items_" + name, {1, 2, 4, 8}, items);
  const Size vector = sketch.open("lanes_" + name, lengths, lanes);
  steps.push_back(Split{name, all, {turns, block, vector}, Tail::kGuard});
  steps.push_back(Reorder{name, {all + ".0", all + ".2", all + ".1", all + ".3"}});
  steps.push_back(Annotate{name, all + ".0", Annotation::kGridX});
  steps.push_back(Annotate{name, all + ".2", Annotation::kThreadX});
  steps.push_back(Annotate{name, all + ".1", Annotation::kUnroll});
  steps.push_back(Annotate{name, all + ".3", Annotation::kVectorize});
  return all + ".2";
}

std::vector<Sketch> flat_on_gpu(const tensor::KernelSpec& kernel) {
  const Workload& workload = kernel.workload;
  if (!structure_of(workload).reductions.empty()) return {};
  Sketch sketch("flat", kernel);
  std::vector<std::string> outputs;
  for (size_t i = 0; i < workload.stages.size(); ++i) {
    const std::string name = stage_name(static_cast<int>(i));
    const bool is_output = std::ranges::any_of(workload.outputs, [&](const tensor::Buffer& output) {
      return output.same_as(workload.stages[i].output);
    });
    if (is_output)
      outputs.push_back(name);
    else
      sketch.steps.steps.push_back(Inline{name});
  }
  const auto inlined = schedule::apply(workload, sketch.steps);
  if (!inlined.ok()) return {};
  for (const std::string& name : outputs)
    if (const Stage& stage = inlined->data().find_stage(name)->stage; !stage.axes.empty())
      append_flat_launch(kernel, stage, name, sketch);
  return {std::move(sketch)};
}

}  // namespace tf::recipes
