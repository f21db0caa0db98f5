#include "compiler/recipes/shape/structure.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/str_cat.h"

namespace tf::recipes {

namespace {

using tensor::Expr;
using tensor::Stage;
using tensor::Workload;

std::set<const tensor::BufferNode*> buffers_read(const Stage& stage) {
  std::set<const tensor::BufferNode*> buffers;
  tensor::for_each(stage.body, [&](const Expr& e) {
    if (const auto* load = tensor::as<tensor::Load>(e)) buffers.insert(load->buffer.get());
    return true;
  });
  return buffers;
}

// Whether every load of `buffer` in the stage is at the stage's own axes, one for one.
bool reads_in_place(const Stage& stage, const tensor::BufferNode* buffer) {
  bool in_place = true;
  tensor::for_each(stage.body, [&](const Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr || load->buffer.get() != buffer) return true;
    in_place = in_place && load->indices.size() == stage.axes.size();
    for (size_t i = 0; in_place && i < load->indices.size(); ++i) {
      // An axis of extent 1 may be written as 0.
      const bool one = tensor::as_int(stage.axes[i].extent) == 1 && tensor::as_int(load->indices[i]) == 0;
      in_place = one || load->indices[i].get() == stage.axes[i].var.get();
    }
    return true;
  });
  return in_place;
}

// The stages from the anchor to the output, if they form element-wise steps over the same axes.
bool find_epilogue(const Workload& workload, int anchor, Structure& structure) {
  std::set<const tensor::BufferNode*> downstream = {
      workload.stages[static_cast<size_t>(anchor)].output.get()};
  for (int i = anchor + 1; i <= structure.output; ++i) {
    const Stage& stage = workload.stages[static_cast<size_t>(i)];
    bool reads = false;
    for (const tensor::BufferNode* buffer : buffers_read(stage)) {
      if (!downstream.contains(buffer)) continue;
      reads = true;
      if (!reads_in_place(stage, buffer)) return false;
    }
    if (reads) downstream.insert(stage.output.get());
    // Element-wise stages that do not depend on the anchor are inlined all the same.
    if (i != structure.output) structure.epilogue.push_back(i);
  }
  return downstream.contains(workload.stages[static_cast<size_t>(structure.output)].output.get());
}

}  // namespace

Structure structure_of(const Workload& workload) {
  Structure structure;
  const auto count = static_cast<int>(workload.stages.size());
  for (int i = 0; i < count; ++i) {
    const Stage& stage = workload.stages[static_cast<size_t>(i)];
    if (!stage.reduce_axes.empty()) structure.reductions.push_back(i);
    if (stage.output.get() == workload.outputs.front().get()) structure.output = i;
  }
  if (structure.reductions.size() != 1 || workload.outputs.size() != 1) return structure;
  const int anchor = structure.reductions.front();
  if (workload.stages[static_cast<size_t>(anchor)].axes.empty() || structure.output != count - 1)
    return structure;
  if (!find_epilogue(workload, anchor, structure)) {
    structure.epilogue.clear();
    return structure;
  }
  for (int i = 0; i < anchor; ++i) structure.producers.push_back(i);
  structure.anchor = anchor;
  return structure;
}

const Stage& anchor_of(const Workload& workload, const Structure& structure) {
  return workload.stages[static_cast<size_t>(structure.anchor.value())];
}

const Stage& output_of(const Workload& workload, const Structure& structure) {
  return workload.stages[static_cast<size_t>(structure.output)];
}

int64_t extent_of(const tensor::Axis& axis) {
  return tensor::as_int(axis.extent).value_or(1);
}

bool computes_nothing(const Workload& workload) {
  auto is_empty = [](const tensor::Axis& axis) { return extent_of(axis) == 0; };
  return std::ranges::any_of(workload.stages, [&](const Stage& stage) {
    return std::ranges::any_of(stage.axes, is_empty) || std::ranges::any_of(stage.reduce_axes, is_empty);
  });
}

bool reads_one_operand(const Stage& stage) {
  std::set<const tensor::BufferNode*> operands;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    if (const auto* load = tensor::as<tensor::Load>(e)) operands.insert(load->buffer.get());
    return true;
  });
  return operands.size() == 1;
}

bool slides_over_one_channel(const Stage& stage) {
  constexpr int64_t kLargestWindow = 32;
  return stage.axes.size() == 4 && stage.reduce_axes.size() == 2 && !reads_one_operand(stage) &&
         extent_of(stage.reduce_axes[0]) * extent_of(stage.reduce_axes[1]) <= kLargestWindow;
}

std::string stage_name(int index) {
  return absl::StrCat("t", index);
}
std::string input_name(int index) {
  return absl::StrCat("p", index);
}

std::optional<std::vector<size_t>> memory_order(const tensor::Layout& layout, int rank) {
  std::vector<size_t> order;
  for (const tensor::LayoutAxis& part : layout.axes) {
    if (part.block != 0) return std::nullopt;
    order.push_back(static_cast<size_t>(part.axis));
  }
  if (order.empty()) {
    order.resize(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
  }
  return order;
}

tensor::Expr element_offset(const tensor::Load& load, const tensor::Layout& layout) {
  const std::optional<std::vector<size_t>> order = memory_order(layout, load.buffer->rank());
  if (!order) return nullptr;
  tensor::Expr offset = tensor::imm(0);
  for (const size_t d : *order) offset = offset * load.buffer->extents[d] + load.indices[d];
  return offset;
}

std::optional<int> memory_axis(const tensor::BufferNode& buffer, const tensor::Layout& layout) {
  auto is_long = [&](int axis) {
    return tensor::as_int(buffer.extents[static_cast<size_t>(axis)]).value_or(1) > 1;
  };
  for (size_t i = layout.axes.size(); i-- > 0;) {
    if (is_long(layout.axes[i].axis)) return layout.axes[i].axis;
  }
  for (int axis = buffer.rank(); axis-- > 0;) {
    if (is_long(axis)) return axis;
  }
  return std::nullopt;
}

int vector_axis(const Stage& output, const tensor::Layout& layout) {
  return memory_axis(*output.output, layout).value_or(0);
}

int vector_axis(const tensor::KernelSpec& kernel, const Structure& structure) {
  return vector_axis(output_of(kernel.workload, structure), kernel.ports.output(0));
}

}  // namespace tf::recipes
