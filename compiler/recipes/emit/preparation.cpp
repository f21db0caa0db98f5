#include "compiler/recipes/emit/preparation.h"

#include "absl/strings/str_cat.h"
#include "compiler/recipes/emit/flat_stage.h"
#include "compiler/recipes/shape/narrow_factors.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written
namespace {

using tensor::Stage;
using tensor::Workload;

// The input whose first reduce index walks a blocked axis: its block, so that splitting the reduction by it
// makes indices linear.
int64_t input_reduce_block(const tensor::KernelSpec& kernel, const Structure& structure) {
  const Workload& workload = kernel.workload;
  const Stage& stage = anchor_of(workload, structure);
  if (stage.reduce_axes.empty()) return 1;
  const tensor::VarNode* reduce = stage.reduce_axes.front().var.get();
  int64_t block = 1;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr) return true;
    for (size_t dim = 0; dim < load->indices.size(); ++dim) {
      if (load->indices[dim].get() != reduce) continue;
      // The buffer itself, or what a producer (padding) copies from.
      for (size_t i = 0; i < workload.inputs.size(); ++i) {
        const tensor::Layout& layout = kernel.ports.input(workload, i);
        const bool direct = workload.inputs[i].buffer.get() == load->buffer.get();
        const bool through =
            !structure.producers.empty() && workload.inputs[i].buffer->rank() == load->buffer->rank();
        if (!direct && !through) continue;
        for (const tensor::LayoutAxis& axis : layout.axes) {
          if (axis.axis == static_cast<int>(dim) && axis.block > 1) block = axis.block;
        }
      }
    }
    return true;
  });
  return block;
}

// The loops of the stage in which the step `offset` sums up columns that are given at run time.
void append_column_sums(const Stage& anchor, const Prepared& prepared, int threads, Steps& steps) {
  const MatrixProduct product = *matrix_product(anchor, prepared.vector_axis);
  FlatLoops loops;
  loops.stage = prepared.reduction + ".sums";
  loops.rank = product.columns->rank();
  loops.reduce_rank = 1;
  loops.vector_axis = product.vector_dim;
  loops.lanes = prepared.lanes;
  loops.vectorized = prepared.lanes > 1;
  loops.parallel = worth_threads(anchor, threads);
  append_flat_loops(loops, steps);
}

}  // namespace

Prepared prepared_frame(const tensor::KernelSpec& kernel, const Structure& structure) {
  Prepared prepared;
  prepared.vector_axis = vector_axis(kernel, structure);
  prepared.lanes = kernel.target.fp32_lanes();
  const int64_t extent =
      extent_of(output_of(kernel.workload, structure).axes[static_cast<size_t>(prepared.vector_axis)]);
  while (prepared.lanes > 1 && prepared.lanes >= 2 * extent) prepared.lanes /= 2;
  prepared.reduce_block = input_reduce_block(kernel, structure);
  return prepared;
}

RegisterTile register_tile(const Stage& anchor, const Prepared& prepared, std::vector<AxisTile> axes,
                           int fused) {
  RegisterTile tile;
  tile.reduction = prepared.reduction;
  tile.output = prepared.output;
  tile.vector_axis = prepared.vector_axis;
  tile.lanes = prepared.lanes;
  tile.group = prepared.group;
  tile.axes = std::move(axes);
  tile.fused = fused;
  tile.accumulates = prepared.sums == Sums::kSerialSplitK;
  tile.vector_axis_outside = matrix_product(anchor, prepared.vector_axis).has_value();
  if (prepared.sums == Sums::kParallelSplitK) {
    tile.axes.insert(tile.axes.begin(), AxisTile{});
    ++tile.vector_axis;
    ++tile.fused;
  }
  return tile;
}

std::vector<ReductionForm> reduction_forms(const tensor::KernelSpec& kernel, const Structure& structure) {
  const Stage& anchor = anchor_of(kernel.workload, structure);
  // What each element of is read but a few times (a window that slides over one channel, with channels innermost) is not
  // worth a copy.
  const bool few =
      reads_one_operand(anchor) || (slides_over_one_channel(anchor) && vector_axis(kernel, structure) == 1);
  const Producers likely = few ? Producers::kInlined : Producers::kStored;
  std::vector<ReductionForm> forms;
  for (Storage storage : storages(kernel, structure)) {
    forms.push_back({.producers = likely, .storage = storage});
    if (structure.producers.empty()) continue;  // the same again
    forms.push_back({.producers = few ? Producers::kStored : Producers::kInlined, .storage = storage});
  }
  return forms;
}

Prepared append_preparation(const tensor::KernelSpec& kernel, const Structure& structure,
                            const ReductionForm& form, const PartLength& part, Steps& steps) {
  const Workload& workload = kernel.workload;
  const Stage& anchor = anchor_of(workload, structure);
  const bool is_output = *structure.anchor == structure.output;
  Prepared prepared = prepared_frame(kernel, structure);
  prepared.columns = form.columns;
  prepared.group = dot_group(kernel, structure, form.columns, form.storage);
  const bool cuts_blocks = prepared.reduce_block > 1 && prepared.reduce_block % prepared.group != 0;
  const bool cuts_parts = form.sums != Sums::kWhole && part.multiple_of % prepared.group != 0;
  // A factor that is computed in place has nowhere to be narrowed.
  const bool narrows_in_place = form.storage != Storage::kDefined && !structure.producers.empty() &&
                                form.producers == Producers::kInlined;
  if (cuts_blocks || cuts_parts || narrows_in_place) prepared.group = 1;

  // Producers that others read once an element disappear; the last one before the anchor (padding) is stored,
  // in the layout of what it copies, because the anchor reads each of its elements many times.
  for (int producer : structure.producers) {
    const bool last = producer == structure.producers.back();
    const std::string name = stage_name(producer);
    if (!last || form.producers == Producers::kInlined) {
      steps.push_back(Inline{name});
      continue;
    }
    tensor::Layout layout;
    for (size_t i = 0; i < workload.inputs.size(); ++i) {
      const tensor::Layout& candidate = kernel.ports.input(workload, i);
      if (workload.inputs[i].buffer->rank() ==
              static_cast<int>(workload.stages[static_cast<size_t>(producer)].axes.size()) &&
          !candidate.is_row_major()) {
        layout = candidate;
      }
    }
    if (!layout.is_row_major()) steps.push_back(LayoutRewrite{name, layout});
    append_flat_loops(flat_loops(kernel, workload.stages[static_cast<size_t>(producer)], name, layout),
                      steps);
  }
  if (form.storage != Storage::kDefined) {
    Narrowing narrowing{form.storage, prepared.group > 1, "", worth_threads(anchor, kernel.threads)};
    if (!structure.producers.empty()) narrowing.producer = stage_name(structure.producers.back());
    append_narrowing(kernel, structure, narrowing, steps);
  }
  for (int stage : structure.epilogue) steps.push_back(Inline{stage_name(stage)});
  prepared.output = stage_name(structure.output);
  prepared.reduction = stage_name(*structure.anchor);
  prepared.sums = form.sums;
  // Where partial sums are the output itself, nothing is between them that could take off what a move adds:
  // dot products then do so one by one.
  const std::optional<Offset> offset = prepared.group > 1 ? dot_offset(kernel, structure) : std::nullopt;
  auto append_offset = [&] {
    if (!offset) return;
    steps.push_back(Offset{prepared.reduction, offset->factor, offset->value});
    if (form.columns == Columns::kPacked) append_column_sums(anchor, prepared, kernel.threads, steps);
  };
  if (!is_output) append_offset();
  if (form.sums != Sums::kWhole) {
    steps.push_back(Split{prepared.reduction, "r0", {part.size}, Tail::kGuard});
    steps.push_back(RFactor{prepared.reduction, "r0.0"});
    if (!is_output) {
      const tensor::Layout& layout = kernel.ports.output(0);
      if (!layout.is_row_major()) steps.push_back(LayoutRewrite{prepared.reduction, layout});
      append_flat_loops(flat_loops(kernel, output_of(workload, structure), prepared.output, layout), steps);
    }
    prepared.output = prepared.reduction;
    prepared.reduction += ".rf";
    if (form.sums == Sums::kParallelSplitK) {
      FlatLoops loops =
          flat_loops(kernel, anchor, prepared.output, is_output ? kernel.ports.output(0) : tensor::Layout{});
      loops.parallel = false;  // a few results
      append_flat_loops(loops, steps);
      prepared.output = prepared.reduction;
      steps.push_back(CacheWrite{prepared.output});
      prepared.reduction += ".acc";
    }
  } else if (is_output) {
    steps.push_back(CacheWrite{prepared.output});
    prepared.reduction = absl::StrCat(prepared.output, ".acc");
    append_offset();
  }
  return prepared;
}

}  // namespace tf::recipes
