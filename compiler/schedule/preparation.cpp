#include "compiler/schedule/preparation.h"

#include "absl/strings/str_cat.h"
#include "compiler/schedule/flat_stage.h"
#include "compiler/schedule/narrow_factors.h"

namespace tf::schedule {
namespace {

using tensor::Stage;
using tensor::Workload;

// The input whose first reduce index walks a blocked axis: its block, so that splitting the reduction by it
// makes indices linear.
int64_t input_reduce_block(const Workload& workload, int anchor, const tensor::PortLayouts& ports,
                           const std::vector<int>& producers) {
  const Stage& stage = workload.stages[static_cast<size_t>(anchor)];
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
        const tensor::Layout& layout = ports.input(workload, i);
        const bool direct = workload.inputs[i].buffer.get() == load->buffer.get();
        const bool through = !producers.empty() && workload.inputs[i].buffer->rank() == load->buffer->rank();
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
void append_column_sums(const Workload& workload, int anchor, const Prepared& prepared, int threads,
                        std::vector<Step>& steps) {
  const Stage& stage = workload.stages[static_cast<size_t>(anchor)];
  const MatrixProduct product = *matrix_product(stage, prepared.vector_axis);
  FlatLoops loops;
  loops.stage = prepared.reduction + ".sums";
  loops.rank = product.columns->rank();
  loops.reduce_rank = 1;
  loops.vector_axis = product.vector_dim;
  loops.lanes = prepared.lanes;
  loops.vectorized = prepared.lanes > 1;
  loops.parallel = worth_threads(stage, threads);
  append_flat_loops(loops, steps);
}

}  // namespace

Prepared prepared_frame(const Workload& workload, const Structure& structure,
                        const tensor::PortLayouts& ports, const target::Target& target) {
  const Stage& output = workload.stages[static_cast<size_t>(structure.output)];
  Prepared prepared;
  prepared.vector_axis = vector_axis(output, ports.output(0));
  prepared.lanes = target.fp32_lanes();
  const int64_t extent = extent_of(output.axes[static_cast<size_t>(prepared.vector_axis)]);
  while (prepared.lanes > 1 && prepared.lanes >= 2 * extent) prepared.lanes /= 2;
  prepared.reduce_block = input_reduce_block(workload, *structure.anchor, ports, structure.producers);
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

Producers default_producers(const Workload& workload, const Structure& structure,
                            const tensor::PortLayouts& ports) {
  const Stage& output = workload.stages[static_cast<size_t>(structure.output)];
  const Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  // A window reads an element only a few times: less than storing a padded copy costs.
  const bool few = reads_one_operand(anchor) ||
                   (slides_over_one_channel(anchor) && vector_axis(output, ports.output(0)) == 1);
  return few ? Producers::kInlined : Producers::kStored;
}

Prepared append_preparation(const Workload& workload, const Structure& structure,
                            const tensor::PortLayouts& ports, const target::Target& target, int threads,
                            const PreparationOptions& options, std::vector<Step>& steps) {
  const int anchor = *structure.anchor;
  Prepared prepared = prepared_frame(workload, structure, ports, target);

  prepared.group =
      dot_group(workload, anchor, prepared.vector_axis, ports, target, options.columns, options.storage);
  const bool cuts_blocks = prepared.reduce_block > 1 && prepared.reduce_block % prepared.group != 0;
  const bool cuts_parts = options.partial_sum.is_open() || options.partial_sum.value % prepared.group != 0;
  // A factor that is computed in place has nowhere to be narrowed.
  const bool narrows_in_place = options.storage != Storage::kDefined && !structure.producers.empty() &&
                                options.producers == Producers::kInlined;
  if (cuts_blocks || cuts_parts || narrows_in_place) prepared.group = 1;

  // Producers that others read once an element disappear; the last one before the anchor (padding) is stored,
  // in the layout of what it copies, because the anchor reads each of its elements many times.
  for (int producer : structure.producers) {
    const bool last = producer == structure.producers.back();
    const std::string name = stage_name(producer);
    if (!last || options.producers == Producers::kInlined) {
      steps.push_back(Inline{name});
      continue;
    }
    tensor::Layout layout;
    for (size_t i = 0; i < workload.inputs.size(); ++i) {
      const tensor::Layout& candidate = ports.input(workload, i);
      if (workload.inputs[i].buffer->rank() ==
              static_cast<int>(workload.stages[static_cast<size_t>(producer)].axes.size()) &&
          !candidate.is_row_major()) {
        layout = candidate;
      }
    }
    if (!layout.is_row_major()) steps.push_back(LayoutRewrite{name, layout});
    append_flat_stage(workload, workload.stages[static_cast<size_t>(producer)], name, layout, ports, target,
                      threads, steps);
  }
  if (options.storage != Storage::kDefined) {
    Narrowing narrowing{options.storage, prepared.group > 1, "", target.fp32_lanes(),
                        worth_threads(workload.stages[static_cast<size_t>(anchor)], threads)};
    if (!structure.producers.empty()) narrowing.producer = stage_name(structure.producers.back());
    append_narrowing(workload, anchor, ports, narrowing, steps);
  }
  for (int stage : structure.epilogue) steps.push_back(Inline{stage_name(stage)});
  prepared.output = stage_name(structure.output);
  prepared.reduction = stage_name(anchor);
  prepared.sums = options.sums;
  // Where partial sums are the output itself, nothing is between them that could take off what a move adds:
  // dot products then do so one by one.
  const std::optional<Offset> offset =
      prepared.group > 1 ? dot_offset(workload, anchor, prepared.vector_axis, target) : std::nullopt;
  auto append_offset = [&] {
    if (!offset) return;
    steps.push_back(Offset{prepared.reduction, offset->factor, offset->value});
    if (options.columns == Columns::kPacked) append_column_sums(workload, anchor, prepared, threads, steps);
  };
  if (anchor != structure.output) append_offset();
  if (options.sums != Sums::kWhole) {
    steps.push_back(Split{prepared.reduction, "r0", {options.partial_sum}, Tail::kGuard});
    steps.push_back(RFactor{prepared.reduction, "r0.0"});
    if (anchor != structure.output) {
      if (!ports.output(0).is_row_major())
        steps.push_back(LayoutRewrite{prepared.reduction, ports.output(0)});
      append_flat_stage(workload, workload.stages[static_cast<size_t>(structure.output)], prepared.output,
                        ports.output(0), ports, target, threads, steps);
    }
    prepared.output = prepared.reduction;
    prepared.reduction += ".rf";
    if (options.sums == Sums::kParallelSplitK) {
      constexpr int kOneThread = 1;  // for what is as small as a few results
      append_flat_stage(workload, workload.stages[static_cast<size_t>(anchor)], prepared.output,
                        anchor == structure.output ? ports.output(0) : tensor::Layout{}, ports, target,
                        kOneThread, steps);
      prepared.output = prepared.reduction;
      steps.push_back(CacheWrite{prepared.output});
      prepared.reduction += ".acc";
    }
  } else if (anchor == structure.output) {
    steps.push_back(CacheWrite{prepared.output});
    prepared.reduction = absl::StrCat(prepared.output, ".acc");
    append_offset();
  }
  return prepared;
}

}  // namespace tf::schedule
