#include "compiler/schedule/in_place.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tf::schedule {
namespace {

using tensor::as;
using tensor::Expr;

// Whether the last tile starts early, so that some elements are computed twice.
bool overlaps_itself(const StageState& stage) {
  bool shifted = false;
  for (const Expr& value : stage.axis_values)
    tensor::for_each(value, [&](const Expr& e) {
      const auto* binary = as<tensor::Binary>(e);
      shifted = shifted || (binary && binary->op == tensor::BinaryOp::kMin);
      return !shifted;
    });
  return shifted;
}

bool same_shape(const tensor::BufferNode& a, const tensor::BufferNode& b) {
  if (a.element != b.element || a.rank() != b.rank()) return false;
  for (size_t d = 0; d < a.extents.size(); ++d)
    if (!tensor::structurally_equal(a.extents[d], b.extents[d])) return false;
  return true;
}

// Whether the stage reads the buffer only at the element that it computes.
bool reads_own_element(const tensor::Stage& stage, const tensor::BufferNode* buffer) {
  bool own = true;
  tensor::for_each(stage.body, [&](const Expr& e) {
    const auto* load = as<tensor::Load>(e);
    if (load == nullptr || load->buffer.get() != buffer) return own;
    for (size_t d = 0; d < load->indices.size(); ++d) {
      const bool one = tensor::as_int(stage.axes[d].extent) == 1 && tensor::as_int(load->indices[d]) == 0;
      own = own && (one || load->indices[d].get() == stage.axes[d].var.get());
    }
    return own;
  });
  return own;
}

}  // namespace

std::vector<int> in_place_inputs(const StateData& data, const tensor::PortLayouts& ports) {
  if (data.workload.outputs.size() != 1) return {};
  const tensor::Buffer& result = data.workload.outputs[0];
  const auto output =
      std::ranges::find_if(data.stages, [&](const StageState& s) { return s.stage.output.same_as(result); });
  if (output == data.stages.end() || output->place != StageState::Place::kRoot || output->is_reduction() ||
      overlaps_itself(*output) || !data.readers(result.get()).empty() || data.pitches.contains(output->name))
    return {};
  std::vector<int> found;
  for (size_t i = 0; i < data.workload.inputs.size(); ++i) {
    const tensor::Input& input = data.workload.inputs[i];
    const tensor::BufferNode* buffer = input.buffer.get();
    if (input.constant || !same_shape(*buffer, *result) || data.pitches.contains(absl::StrCat("p", i)) ||
        !(ports.input(data.workload, i) == ports.output(0)))
      continue;
    const std::vector<const StageState*> readers = data.readers(buffer);
    if (readers.size() == 1 && readers[0] == &*output && reads_own_element(output->stage, buffer))
      found.push_back(static_cast<int>(i));
  }
  return found;
}

}  // namespace tf::schedule
