#include "compiler/recipes/gpu/elements.h"

#include "compiler/recipes/gpu/loops.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written

// A thread computes one element, and what reductions that takes, from one end to the other: what several
// threads need is computed by each of them.
std::vector<Sketch> elements_on_gpu(const tensor::KernelSpec& kernel) {
  constexpr int64_t kThreads = 256;
  const tensor::Workload& workload = kernel.workload;
  Sketch sketch("elements", kernel);
  Steps& steps = sketch.steps.steps;
  std::vector<int> inlined, summed;
  for (size_t i = 0; i + 1 < workload.stages.size(); ++i)
    (workload.stages[i].reduce_axes.empty() ? inlined : summed).push_back(static_cast<int>(i));
  append_inlining(inlined, steps);
  const std::string output = stage_name(static_cast<int>(workload.stages.size()) - 1);
  const size_t rank = workload.stages.back().axes.size();
  if (rank == 0) return {std::move(sketch)};
  const std::string all = append_fuse(output, rank, steps);
  steps.push_back(Split{output, all, {kThreads}, Tail::kGuard});
  steps.push_back(Annotate{output, all + ".0", Annotation::kGridX});
  steps.push_back(Annotate{output, all + ".1", Annotation::kThreadX});
  for (auto stage = summed.rbegin(); stage != summed.rend(); ++stage)
    steps.push_back(ComputeAt{stage_name(*stage), output, all + ".1", tensor::Scope::kRegister});
  return {std::move(sketch)};
}

}  // namespace tf::recipes
