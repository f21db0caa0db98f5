#include "compiler/schedule/steps/layout_rewrite.h"

#include <algorithm>

namespace tf::schedule {

bool is_layout_of(const tensor::Layout& layout, int rank) {
  if (layout.swizzle_bits != 0) return false;
  if (layout.is_row_major()) return true;
  std::vector<int> unblocked(static_cast<size_t>(rank), 0);
  for (const tensor::LayoutAxis& axis : layout.axes) {
    if (axis.axis < 0 || axis.axis >= rank || axis.block < 0 || axis.block > 4096) return false;
    if (axis.block == 0) ++unblocked[static_cast<size_t>(axis.axis)];
  }
  return layout.axes.size() <= 16 && std::ranges::all_of(unblocked, [](int n) { return n == 1; });
}

std::optional<Illegal> apply_step(StateData& data, const LayoutRewrite& step) {
  const tensor::Buffer buffer = data.find_buffer(step.buffer);
  if (!buffer) return Illegal::kUnknownStage;
  if (const StageState* stage = data.find_stage(step.buffer)) {
    if (stage->place == StageState::Place::kInlined) return Illegal::kUnknownStage;
    if (data.is_output(*stage)) return Illegal::kIsOutput;
  } else if (!data.workload.inputs[static_cast<size_t>(data.find_input(step.buffer))].constant) {
    return Illegal::kNotConstant;
  }
  if (step.layout.is_open()) return Illegal::kOpenSize;
  tensor::Layout layout = step.layout.closed();
  if (!is_layout_of(layout, buffer->rank()) || data.pitches.contains(step.buffer)) return Illegal::kBadLayout;
  data.layouts[step.buffer] = std::move(layout);
  return std::nullopt;
}

}  // namespace tf::schedule
