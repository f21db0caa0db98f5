#include "compiler/passes/lower.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/analysis/simplify.h"
#include "compiler/ir/hash.h"
#include "compiler/ir/physical.h"
#include "compiler/passes/loops/build_loops.h"
#include "compiler/passes/passes.h"

namespace tf::passes {
namespace {

// What is illegal after a pass is that pass's bug.
absl::Status verify_after(const char* pass, const ir::Function& function, const ir::Promises& promises = {}) {
  const absl::Status legal = ir::verify(function, promises);
  if (legal.ok()) return legal;
  return absl::InternalError(absl::StrCat("after pass ", pass, ": ", std::string(legal.message())));
}

}  // namespace

std::vector<std::string> pass_names(const Pipeline& pipeline) {
  std::vector<std::string> names = {"build_loops"};
  for (const Pass& pass : pipeline.passes) names.emplace_back(pass.name);
  return names;
}

absl::StatusOr<Lowered> lower(const tensor::Workload& workload, const schedule::Schedule& schedule,
                              const tensor::PortLayouts& ports, const LowerOptions& options) {
  absl::StatusOr<schedule::State> state = schedule::apply(workload, schedule);
  if (!state.ok()) return state.status();
  absl::StatusOr<ir::Function> built = build_loops(*state, ports, options.name);
  if (!built.ok()) return built.status();

  Lowered lowered;
  lowered.function = *std::move(built);
  const auto& maps = state->data().maps;
  const analysis::RangeMap dims = analysis::ranges_of(workload.dims);
  for (const ir::Buffer& param : lowered.function.params) {
    const auto mapped = maps.find(param->name);
    lowered.param_maps.push_back(mapped == maps.end() ? std::vector<schedule::AxisMap>() : mapped->second);
    const auto sums = state->data().sums.find(param->name);
    lowered.param_sums.push_back(sums == state->data().sums.end() ? std::nullopt
                                                                  : std::optional(sums->second));
    lowered.param_layouts.push_back(param->layout);
    lowered.param_elements.push_back(analysis::interval_of(ir::physical_elements(*param), dims).max);
  }
  if (options.after) options.after("build_loops", lowered.function);
  if (options.verify_each) TF_RETURN_IF_ERROR(verify_after("build_loops", lowered.function));
  for (const Pass& pass : options.pipeline.passes) {
    lowered.function = pass.run(lowered.function);
    if (options.after) options.after(pass.name, lowered.function);
    if (options.verify_each) TF_RETURN_IF_ERROR(verify_after(pass.name, lowered.function));
  }
  if (options.verify_each)
    TF_RETURN_IF_ERROR(verify_after("the last one", lowered.function, options.pipeline.promises));
  return lowered;
}

absl::StatusOr<uint64_t> loops_hash(const tensor::Workload& workload, const schedule::Schedule& schedule,
                                    const tensor::PortLayouts& ports) {
  absl::StatusOr<schedule::State> state = schedule::apply(workload, schedule);
  if (!state.ok()) return state.status();
  absl::StatusOr<ir::Function> built = build_loops(*state, ports, "kernel");
  if (!built.ok()) return built.status();
  // Twice: what was merged reads like what was one from the start.
  return ir::hash(analysis::simplify(merge_unrolled(analysis::simplify(*built))));
}

}  // namespace tf::passes
