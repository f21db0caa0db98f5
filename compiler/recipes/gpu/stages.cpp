#include "compiler/recipes/gpu/stages.h"

#include <algorithm>

#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Stage;
using tensor::Workload;

constexpr int64_t kDefaultThreads = 256;
// Below so many elements, neighbours of one thread are threads that do nothing.
constexpr int64_t kWorthNeighbours = 1 << 16;

bool is_output(const Workload& workload, const Stage& stage) {
  return std::ranges::any_of(workload.outputs,
                             [&](const tensor::Buffer& output) { return output.same_as(stage.output); });
}

bool reads(const Stage& stage, const tensor::Buffer& buffer) {
  bool found = false;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    found = found || (load != nullptr && load->buffer.same_as(buffer));
    return !found;
  });
  return found;
}

bool calls_functions(const Stage& stage) {
  bool found = false;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    found = found || tensor::as<tensor::Call>(e) != nullptr;
    return !found;
  });
  return found;
}

// A reduction reads an element many times, so that what takes functions is better stored.
bool is_cheap_where_read(const Workload& workload, const Stage& stage) {
  return !calls_functions(stage) || std::ranges::none_of(workload.stages, [&](const Stage& reader) {
    return !reader.reduce_axes.empty() && reads(reader, stage.output);
  });
}

std::vector<int64_t> thread_choices(const target::Target& target) {
  std::vector<int64_t> choices;
  for (int64_t threads = std::max(target.gpu.warp_threads, 1); threads <= target.gpu.block_threads;
       threads *= 2)
    choices.push_back(threads);
  return choices;
}

void append_launch(const Stage& stage, const std::string& name, const target::Target& target,
                   Sketch& sketch) {
  Steps& steps = sketch.steps.steps;
  int64_t elements = 1;
  for (const tensor::Axis& axis : stage.axes) elements *= extent_of(axis);
  const std::string all = append_fuse(name, stage.axes.size(), steps);
  const std::vector<int64_t> choices = thread_choices(target);
  int64_t threads = choices.empty() ? 1 : std::min(kDefaultThreads, choices.back());
  while (threads > 1 && threads / 2 >= elements) threads /= 2;
  const bool has_neighbours = stage.reduce_axes.empty();
  std::vector<Size> factors = {sketch.open("threads_" + name, choices, threads)};
  if (has_neighbours) {
    const int64_t neighbours = elements >= kWorthNeighbours && elements % 4 == 0 ? 4 : 1;
    factors.push_back(sketch.open("neighbours_" + name, {1, 2, 4, 8}, neighbours));
  }
  steps.push_back(Split{name, all, std::move(factors), Tail::kGuard});
  steps.push_back(Annotate{name, all + ".0", Annotation::kGridX});
  steps.push_back(Annotate{name, all + ".1", Annotation::kThreadX});
  if (has_neighbours) steps.push_back(Annotate{name, all + ".2", Annotation::kVectorize});
}

}  // namespace

std::vector<Sketch> stages_on_gpu(const tensor::KernelSpec& kernel) {
  const Workload& workload = kernel.workload;
  Sketch sketch("stages", kernel);
  for (size_t i = 0; i < workload.stages.size(); ++i) {
    const Stage& stage = workload.stages[i];
    const std::string name = stage_name(static_cast<int>(i));
    const bool is_inlined =
        stage.reduce_axes.empty() && !is_output(workload, stage) && is_cheap_where_read(workload, stage);
    if (is_inlined) {
      sketch.steps.steps.push_back(Inline{name});
    } else if (!stage.axes.empty()) {
      append_launch(stage, name, kernel.target, sketch);
    }
  }
  return {std::move(sketch)};
}

}  // namespace tf::recipes
