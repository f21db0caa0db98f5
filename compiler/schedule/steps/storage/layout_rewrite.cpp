#include <algorithm>

#include "compiler/schedule/steps/steps.h"

namespace tf::schedule {

bool is_layout_of(const OpenLayout& layout, int rank) {
  if (!layout.swizzle.is_legal()) return false;
  if (layout.is_row_major()) return true;
  std::vector<int> unblocked(static_cast<size_t>(rank), 0);
  for (const auto& [axis, block] : layout.axes) {
    if (axis < 0 || axis >= rank || block.value < 0 || block.value > kMaxLayoutBlock) return false;
    if (block == Size(0)) ++unblocked[static_cast<size_t>(axis)];
  }
  return layout.axes.size() <= 16 && std::ranges::all_of(unblocked, [](int n) { return n == 1; });
}

std::optional<Illegal> check_layout(StateData& data, const OpenLayout& layout, int rank) {
  for (const OpenLayoutAxis& axis : layout.axes) {
    const std::optional<SymInt> block = data.value_of(axis.block);
    if (!block) return Illegal::kOpenSize;
    if (axis.block.is_open() && (!data.require(tensor::less_equal(1, *block)) ||
                                 !data.require(tensor::less_equal(*block, kMaxLayoutBlock))))
      return Illegal::kBadLayout;
  }
  return is_layout_of(layout, rank) ? std::nullopt : std::optional(Illegal::kBadLayout);
}

std::optional<Illegal> apply_step(StateData& data, const LayoutRewrite& step) {
  const tensor::Buffer buffer = data.find_buffer(step.buffer);
  if (!buffer) return Illegal::kUnknownStage;
  if (const StageState* stage = data.find_stage(step.buffer)) {
    if (stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
    if (data.is_output(*stage)) return Illegal::kIsOutput;
  } else if (step.layout.swizzle ||
             !data.workload.inputs[static_cast<size_t>(data.find_input(step.buffer))].constant) {
    return step.layout.swizzle ? Illegal::kBadLayout : Illegal::kNotConstant;
  }
  if (auto reason = check_layout(data, step.layout, buffer->rank())) return reason;
  if (data.pitches.contains(step.buffer)) return Illegal::kBadLayout;
  data.layouts[step.buffer] = step.layout;
  return std::nullopt;
}

}  // namespace tf::schedule
