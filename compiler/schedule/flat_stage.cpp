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

}  // namespace

std::optional<int> gathered_along(const Workload& workload, const Stage& stage, int axis,
                                  const PortLayouts& ports) {
  const tensor::VarNode* var = stage.axes[static_cast<size_t>(axis)].var.get();
  const auto* load = tensor::as<tensor::Load>(stage.body);
  if (load == nullptr || !stage.reduce_axes.empty()) return std::nullopt;
  tensor::Layout layout;
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.same_as(load->buffer)) layout = ports.input(workload, i);
  const std::optional<int> source = memory_axis(*load->buffer, layout);
  if (!source) return std::nullopt;
  const tensor::Expr& innermost = load->indices[static_cast<size_t>(*source)];
  const auto moves = [&](const tensor::Expr& index) { return analysis::uses(index, var); };
  if (moves(innermost) || std::ranges::none_of(load->indices, moves)) return std::nullopt;
  for (size_t d = 0; d < stage.axes.size(); ++d)
    if (innermost.get() == stage.axes[d].var.get()) return static_cast<int>(d);
  return -1;
}

bool worth_threads(const Stage& stage, int threads) {
  double iterations = threads > 1 ? 1 : 0;
  for (const tensor::Axis& axis : stage.axes) iterations *= static_cast<double>(extent_of(axis));
  for (const tensor::Axis& axis : stage.reduce_axes) iterations *= static_cast<double>(extent_of(axis));
  return iterations >= kWorthThreads;
}

void append_flat_stage(const Workload& workload, const Stage& stage, const std::string& name,
                       const tensor::Layout& layout, const PortLayouts& ports, const target::Target& target,
                       int threads, std::vector<Step>& steps) {
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
