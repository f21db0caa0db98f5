#include "compiler/schedule/flat_stage.h"

#include <algorithm>

#include "compiler/analysis/access.h"
#include "compiler/schedule/structure.h"
#include "compiler/schedule/tiling.h"

namespace tf::schedule {
namespace {

using tensor::Stage;
using tensor::Workload;

// Work below this many iterations is not worth waking threads for.
constexpr double kWorthThreads = 4096;

// The loads of a body that only moves elements: one, or one a piece of a concatenation. None if it computes.
std::vector<const tensor::Load*> moved_loads(const tensor::Expr& body) {
  if (const auto* load = tensor::as<tensor::Load>(body)) return {load};
  const auto* pieces = tensor::as<tensor::Select>(body);
  if (pieces == nullptr) return {};
  std::vector<const tensor::Load*> loads = moved_loads(pieces->if_true);
  const std::vector<const tensor::Load*> rest = moved_loads(pieces->if_false);
  if (loads.empty() || rest.empty()) return {};
  loads.insert(loads.end(), rest.begin(), rest.end());
  return loads;
}

// As gathered_along, of one of the stage's loads.
std::optional<int> load_gathered_along(const Workload& workload, const Stage& stage, const tensor::Load& load,
                                       int axis, const tensor::PortLayouts& ports) {
  const tensor::VarNode* var = stage.axes[static_cast<size_t>(axis)].var.get();
  tensor::Layout layout;
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.same_as(load.buffer)) layout = ports.input(workload, i);
  const std::optional<int> source = memory_axis(*load.buffer, layout);
  if (!source) return std::nullopt;
  const tensor::Expr& innermost = load.indices[static_cast<size_t>(*source)];
  const auto moves = [&](const tensor::Expr& index) { return analysis::uses(index, var); };
  if (moves(innermost) || std::ranges::none_of(load.indices, moves)) return std::nullopt;
  for (size_t d = 0; d < stage.axes.size(); ++d)
    if (innermost.get() == stage.axes[d].var.get()) return static_cast<int>(d);
  return -1;
}

}  // namespace

std::optional<int> gathered_along(const Workload& workload, const Stage& stage, int axis,
                                  const tensor::PortLayouts& ports) {
  if (!stage.reduce_axes.empty()) return std::nullopt;
  std::optional<int> along;
  for (const tensor::Load* load : moved_loads(stage.body)) {
    const std::optional<int> one = load_gathered_along(workload, stage, *load, axis, ports);
    if (!one) return std::nullopt;
    along = std::max(along.value_or(-1), *one);
  }
  return along;
}

bool worth_threads(const Stage& stage, int threads) {
  double iterations = threads > 1 ? 1 : 0;
  for (const tensor::Axis& axis : stage.axes) iterations *= static_cast<double>(extent_of(axis));
  for (const tensor::Axis& axis : stage.reduce_axes) iterations *= static_cast<double>(extent_of(axis));
  return iterations >= kWorthThreads;
}

void append_flat_stage(const Workload& workload, const Stage& stage, const std::string& name,
                       const tensor::Layout& layout, const tensor::PortLayouts& ports,
                       const target::Target& target, int threads, std::vector<Step>& steps) {
  if (stage.axes.empty()) return;
  FlatLoops loops;
  loops.stage = name;
  loops.rank = static_cast<int>(stage.axes.size());
  loops.reduce_rank = static_cast<int>(stage.reduce_axes.size());
  loops.vector_axis = vector_axis(stage, layout);
  int64_t lanes = target.fp32_lanes();
  while (lanes > extent_of(stage.axes[static_cast<size_t>(loops.vector_axis)])) lanes /= 2;
  loops.parallel = worth_threads(stage, threads);
  const std::optional<int> from = gathered_along(workload, stage, loops.vector_axis, ports);
  if (from.value_or(-1) >= 0)
    return append_squares({.stage = name,
                           .rank = loops.rank,
                           .to = loops.vector_axis,
                           .from = *from,
                           .parallel = loops.parallel},
                          steps);
  loops.vectorized = lanes >= 2 && !from;
  loops.lanes = lanes;
  append_flat_loops(loops, steps);
}

}  // namespace tf::schedule
