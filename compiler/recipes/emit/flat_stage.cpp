#include "compiler/recipes/emit/flat_stage.h"

#include <algorithm>

#include "compiler/analysis/access.h"
#include "compiler/recipes/shape/structure.h"

namespace tf::recipes {

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
std::optional<int> load_gathered_along(const tensor::KernelSpec& kernel, const Stage& stage,
                                       const tensor::Load& load, int axis) {
  const Workload& workload = kernel.workload;
  const tensor::VarNode* var = stage.axes[static_cast<size_t>(axis)].var.get();
  tensor::Layout layout;
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.same_as(load.buffer)) layout = kernel.ports.input(workload, i);
  const std::optional<int> source = memory_axis(*load.buffer, layout);
  if (!source) return std::nullopt;
  const tensor::Expr& innermost = load.indices[static_cast<size_t>(*source)];
  const auto moves = [&](const tensor::Expr& index) { return analysis::uses(index, var); };
  if (moves(innermost) || std::ranges::none_of(load.indices, moves)) return std::nullopt;
  for (size_t d = 0; d < stage.axes.size(); ++d)
    if (innermost.get() == stage.axes[d].var.get()) return static_cast<int>(d);
  return -1;
}

// The axis along which elements lie next to each other where they come from, if the stage only moves them (a
// copy, a transpose, a concatenation) and none of them lie so along `axis`; -1 if that is none of its own.
std::optional<int> gathered_along(const tensor::KernelSpec& kernel, const Stage& stage, int axis) {
  if (!stage.reduce_axes.empty()) return std::nullopt;
  std::optional<int> along;
  for (const tensor::Load* load : moved_loads(stage.body)) {
    const std::optional<int> one = load_gathered_along(kernel, stage, *load, axis);
    if (!one) return std::nullopt;
    along = std::max(along.value_or(-1), *one);
  }
  return along;
}

}  // namespace

bool worth_threads(const Stage& stage, int threads) {
  double iterations = threads > 1 ? 1 : 0;
  for (const tensor::Axis& axis : stage.axes) iterations *= static_cast<double>(extent_of(axis));
  for (const tensor::Axis& axis : stage.reduce_axes) iterations *= static_cast<double>(extent_of(axis));
  return iterations >= kWorthThreads;
}

FlatLoops flat_loops(const tensor::KernelSpec& kernel, const Stage& stage, const std::string& name,
                     const tensor::Layout& layout) {
  FlatLoops loops{.stage = name,
                  .rank = static_cast<int>(stage.axes.size()),
                  .reduce_rank = static_cast<int>(stage.reduce_axes.size())};
  if (stage.axes.empty()) return loops;
  loops.parallel = worth_threads(stage, kernel.threads);
  loops.vector_axis = vector_axis(stage, layout);
  int64_t lanes = kernel.target.fp32_lanes();
  while (lanes > extent_of(stage.axes[static_cast<size_t>(loops.vector_axis)])) lanes /= 2;
  const std::optional<int> from = gathered_along(kernel, stage, loops.vector_axis);
  if (from.value_or(-1) >= 0) {
    constexpr int64_t kSide = 16;
    loops.moved_from = from;
    loops.lanes = kSide;
  } else {
    loops.vectorized = lanes >= 2 && !from;
    loops.lanes = lanes;
  }
  return loops;
}

}  // namespace tf::recipes
