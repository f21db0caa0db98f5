#include "compiler/recipes/gpu/stages.h"

#include <algorithm>

#include "compiler/recipes/gpu/flat.h"
#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

namespace {

using tensor::Stage;
using tensor::Workload;

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

// A thread adds up all of an element in a register.
void append_launch(const tensor::KernelSpec& kernel, const Stage& stage, const std::string& name,
                   Sketch& sketch) {
  const bool adds_up = !stage.reduce_axes.empty();
  if (adds_up) sketch.steps.steps.push_back(CacheWrite{name});
  const std::string thread = append_flat_launch(kernel, stage, name, sketch);
  if (adds_up) sketch.steps.steps.push_back(ComputeAt{name + ".acc", name, thread, tensor::Scope::kRegister});
}

// One sum, and what follows from it element by element, in one launch.
std::vector<Sketch> one_sum(const tensor::KernelSpec& kernel, const Structure& structure) {
  Sketch sketch("stages", kernel);
  Steps& steps = sketch.steps.steps;
  append_inlining(structure.producers, steps);
  append_inlining(structure.epilogue, steps);
  const std::string sum = append_separate_sum(structure, steps), output = stage_name(structure.output);
  // As many elements a thread as sums: the output is no vector.
  const std::string thread =
      append_flat_launch(kernel, anchor_of(kernel.workload, structure), output, sketch);
  steps.push_back(ComputeAt{sum, output, thread, tensor::Scope::kRegister});
  return {std::move(sketch)};
}

}  // namespace

std::vector<Sketch> stages_on_gpu(const tensor::KernelSpec& kernel) {
  const Workload& workload = kernel.workload;
  const Structure structure = structure_of(workload);
  if (structure.anchor && std::ranges::all_of(structure.producers, [&](int s) {
        return is_cheap_where_read(workload, workload.stages[static_cast<size_t>(s)]);
      }))
    return one_sum(kernel, structure);
  Sketch sketch("stages", kernel);
  for (size_t i = 0; i < workload.stages.size(); ++i) {
    const Stage& stage = workload.stages[i];
    const std::string name = stage_name(static_cast<int>(i));
    const bool is_inlined =
        stage.reduce_axes.empty() && !is_output(workload, stage) && is_cheap_where_read(workload, stage);
    if (is_inlined) {
      sketch.steps.steps.push_back(Inline{name});
    } else if (!stage.axes.empty()) {
      append_launch(kernel, stage, name, sketch);
    }
  }
  return {std::move(sketch)};
}

}  // namespace tf::recipes
