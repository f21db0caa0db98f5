#include "compiler/schedule/bulk_copy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tf::schedule {
namespace {

constexpr size_t kMostAxes = 5;
constexpr int64_t kLineStart = 16;                   // bytes
constexpr int64_t kMostElements = int64_t{1} << 30;  // of an axis: places in it are 32-bit numbers

// The input that the stage is, element by element; null if it is something else.
const tensor::Input* input_of(const StateData& data, const tensor::Stage& stage) {
  const auto* load = tensor::as<tensor::Load>(stage.body);
  if (!load || load->predicate || load->buffer->element != stage.output->element ||
      load->indices.size() != stage.axes.size())
    return nullptr;
  for (size_t d = 0; d < stage.axes.size(); ++d)
    if (!load->indices[d].same_as(stage.axes[d].var)) return nullptr;
  const auto found = std::ranges::find_if(
      data.workload.inputs, [&](const tensor::Input& input) { return input.buffer.same_as(load->buffer); });
  return found == data.workload.inputs.end() ? nullptr : &*found;
}

bool has_aligned_lines(const tensor::BufferNode& buffer) {
  int64_t bytes = tensor::element_bytes(buffer.element);
  for (size_t d = buffer.extents.size(); d-- > 0;) {
    const std::optional<int64_t> extent = tensor::as_int(buffer.extents[d]);
    if (!extent || *extent < 1 || *extent > kMostElements) return false;
    bytes *= *extent;
    if (d > 0 && bytes % kLineStart != 0) return false;
  }
  return true;
}

}  // namespace

bool is_bulk_copy(const StateData& data, const StageState& stage) {
  const tensor::Input* input = input_of(data, stage.stage);
  if (!input || stage.stage.axes.empty() || stage.stage.axes.size() > kMostAxes ||
      !has_aligned_lines(*input->buffer))
    return false;
  const size_t number = static_cast<size_t>(input - data.workload.inputs.data());
  if (const auto given = data.layouts.find(absl::StrCat("p", number));
      given != data.layouts.end() && !given->second.is_row_major())
    return false;
  const auto found = data.layouts.find(stage.name);
  if (found == data.layouts.end()) return false;
  const OpenLayout& layout = found->second;
  const int last = static_cast<int>(stage.stage.axes.size()) - 1;
  const tensor::Element element = stage.stage.output->element;
  const OpenLayoutAxis line{last, Size(tensor_units::kLineBytes / tensor::element_bytes(element))};
  return layout.axes.size() == stage.stage.axes.size() + 1 && layout.axes.back() == line &&
         layout.swizzle == tensor_units::line_swizzle(element) &&
         (last == 0 || axis_across_lines(data, stage) != last);
}

int axis_across_lines(const StateData& data, const StageState& stage) {
  const OpenLayout& layout = data.layouts.at(stage.name);
  return stage.stage.axes.size() < 2 ? -1 : layout.axes[layout.axes.size() - 2].axis;
}

}  // namespace tf::schedule
