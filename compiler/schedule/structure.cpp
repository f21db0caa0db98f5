#include "compiler/schedule/structure.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/analysis/access.h"

namespace tf::schedule {
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

std::string stage_name(int index) {
  return absl::StrCat("t", index);
}
std::string input_name(int index) {
  return absl::StrCat("p", index);
}

int vector_axis(const Stage& output, const tensor::Layout& layout) {
  auto extent = [&](int axis) {
    return tensor::as_int(output.axes[static_cast<size_t>(axis)].extent).value_or(1);
  };
  for (size_t i = layout.axes.size(); i-- > 0;) {
    if (extent(layout.axes[i].axis) > 1) return layout.axes[i].axis;
  }
  for (auto axis = static_cast<int>(output.axes.size()); axis-- > 0;) {
    if (extent(axis) > 1) return axis;
  }
  return 0;
}

std::vector<ConstantLayout> constant_layouts(const Workload& workload, int anchor, const VectorBlock& block,
                                             int64_t reduce_block) {
  const Stage& stage = workload.stages[static_cast<size_t>(anchor)];
  const tensor::VarNode* vector_var = stage.axes[static_cast<size_t>(block.axis)].var.get();
  const tensor::VarNode* reduce_var =
      stage.reduce_axes.empty() ? nullptr : stage.reduce_axes.front().var.get();
  std::vector<ConstantLayout> layouts;
  for (size_t input = 0; input < workload.inputs.size(); ++input) {
    if (!workload.inputs[input].constant) continue;
    const tensor::BufferNode* buffer = workload.inputs[input].buffer.get();
    const tensor::Load* found = nullptr;
    bool single = true;
    tensor::for_each(stage.body, [&](const Expr& e) {
      const auto* load = tensor::as<tensor::Load>(e);
      if (load != nullptr && load->buffer.get() == buffer) {
        single = found == nullptr || found == load;
        found = load;
      }
      return true;
    });
    if (found == nullptr || !single || buffer->rank() < 2) continue;
    int vector_dim = -1, reduce_dim = -1;
    for (int dim = 0; dim < buffer->rank(); ++dim) {
      const Expr& index = found->indices[static_cast<size_t>(dim)];
      if (index.get() == vector_var) vector_dim = dim;
      if (reduce_var != nullptr && index.get() == reduce_var) reduce_dim = dim;
      if (index.get() != vector_var && analysis::uses(index, vector_var))
        vector_dim = -2;  // strided: no layout helps
    }
    if (vector_dim < 0) continue;
    OpenLayout layout;
    layout.axes.push_back({vector_dim, 0});
    for (int dim = 0; dim < buffer->rank(); ++dim) {
      if (dim != vector_dim) layout.axes.push_back({dim, 0});
    }
    if (reduce_block > 1 && reduce_dim >= 0) layout.axes.push_back({reduce_dim, reduce_block});
    layout.push_back(vector_dim, block.vectors);
    layout.axes.push_back({vector_dim, block.lanes});
    layouts.push_back({static_cast<int>(input), std::move(layout)});
  }
  return layouts;
}

}  // namespace tf::schedule
