#include <algorithm>

#include "compiler/schedule/needed_region.h"
#include "compiler/schedule/stage_loops.h"
#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

using tensor::Expr;

std::optional<Illegal> apply_step(StateData& data, const Fuse& step) {
  StageState* stage = data.find_stage(step.stage);
  if (!stage || stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
  if (step.loops.size() < 2) return Illegal::kNotAdjacent;
  const int first = stage->find_loop(step.loops[0]);
  const int count = static_cast<int>(step.loops.size());
  Loop fused{"", 1, false, Annotation::kSerial};
  for (int i = 0; i < count; ++i) {
    const int index = stage->find_loop(step.loops[static_cast<size_t>(i)]);
    if (index < 0) return Illegal::kUnknownLoop;
    if (index != first + i) return Illegal::kNotAdjacent;
    if (fixes_threads(data, *stage, index)) return Illegal::kFixedThreads;
    const Loop& loop = stage->loops[static_cast<size_t>(index)];
    if (i > 0 && loop.reduce != fused.reduce) return Illegal::kMixedFuse;
    fused.name += (i > 0 ? "*" : "") + loop.name;
    fused.extent *= loop.extent;
    fused.reduce = loop.reduce;
  }
  if (data.deepest_held_loop(*stage) >= first) return Illegal::kHoldsStages;

  const tensor::Var var = tensor::var(fused.name);
  std::vector<Expr> values(static_cast<size_t>(count));
  SymInt inner = 1;
  for (int i = count - 1; i >= 0; --i) {
    const SymInt extent = stage->loops[static_cast<size_t>(first + i)].extent;
    Expr value = tensor::floor_div(var, inner.expr());
    if (i > 0) value = tensor::floor_mod(value, extent.expr());
    values[static_cast<size_t>(i)] = value;
    inner *= extent;
  }
  replace_loops(*stage, first, count, {fused}, {var}, values);
  return std::nullopt;
}

}  // namespace tf::schedule
