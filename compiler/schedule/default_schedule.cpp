#include "compiler/schedule/default_schedule.h"

#include <algorithm>

#include "compiler/schedule/attention.h"
#include "compiler/schedule/default_tile.h"
#include "compiler/schedule/flat_stage.h"
#include "compiler/schedule/gpu_schedule.h"
#include "compiler/schedule/operand_storage.h"
#include "compiler/schedule/row_steps.h"
#include "compiler/schedule/winograd_tiling.h"

namespace tf::schedule {
namespace {

using tensor::Stage;
using tensor::Workload;

// Every stage by itself; element-wise ones with one reader disappear into it.
void append_separate(const Workload& workload, const Structure& structure, const tensor::PortLayouts& ports,
                     const target::Target& target, int threads, std::vector<Step>& steps) {
  const bool inline_all = structure.reductions.empty();
  for (size_t i = 0; i < workload.stages.size(); ++i) {
    const Stage& stage = workload.stages[i];
    const bool is_output =
        std::any_of(workload.outputs.begin(), workload.outputs.end(),
                    [&](const tensor::Buffer& b) { return b.get() == stage.output.get(); });
    if (inline_all && !is_output) {
      steps.push_back(Inline{stage_name(static_cast<int>(i))});
      continue;
    }
    tensor::Layout layout;
    for (size_t k = 0; k < workload.outputs.size(); ++k) {
      if (workload.outputs[k].get() == stage.output.get()) layout = ports.output(k);
    }
    append_flat_stage(workload, stage, stage_name(static_cast<int>(i)), layout, ports, target, threads,
                      steps);
  }
}

bool is_legal(const Workload& workload, const std::vector<Step>& steps) {
  return apply(workload, Schedule{steps}).ok();
}

}  // namespace

Schedule anchored_schedule(const Workload& workload, const tensor::PortLayouts& ports,
                           const target::Target& target, int threads, Storage storage) {
  const Structure structure = structure_of(workload);
  std::vector<Step> steps;
  const Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  const ProductChoice choice = choose_product(workload, structure, ports, target, threads);
  const Prepared prepared =
      append_preparation(workload, structure, ports, target, threads,
                         {.producers = default_producers(workload, structure, ports),
                          .sums = choice.sums,
                          .partial_sum = choice.partial_sum,
                          .storage = storage,
                          .columns = choice.pack ? Columns::kPacked : Columns::kAsGiven},
                         steps);
  const DefaultTile sizes = default_tile(anchor, prepared, target, threads);
  const bool parallel = worth_threads(anchor, threads);
  const int64_t vectors = sizes.tiles[static_cast<size_t>(prepared.vector_axis)];
  append_operand_storage(workload, structure, prepared,
                         choice.panel_vectors > 0 ? choice.panel_vectors : vectors, choice.pack, parallel,
                         steps);
  std::vector<AxisTile> axes;
  for (size_t axis = 0; axis < sizes.tiles.size(); ++axis)
    axes.push_back({sizes.blocks[axis], sizes.tiles[axis]});
  RegisterTile tile = register_tile(anchor, prepared, std::move(axes), sizes.fused);
  for (int64_t size : sizes.reduce_inner) tile.reduce_inner.push_back(size);
  tile.parallel = parallel;
  append_register_tile(tile, steps);
  if (sizes.unroll > 0) steps.push_back(Pragma{tile.reduction, PragmaKind::kUnrollLimit, sizes.unroll});
  return Schedule{std::move(steps)};
}

Schedule default_schedule(const Workload& workload, const tensor::PortLayouts& ports,
                          const target::Target& target, int threads, const Numerics& allowed) {
  if (target.gpu.block_threads > 0) return gpu_schedule(workload);
  if (computes_nothing(workload)) return Schedule{};  // there is nothing to tile, and at most zeros to write
  if (const std::optional<Attention> attention = attention_of(workload, ports)) {
    std::vector<Step> steps;
    const AttentionSizes sizes = default_attention_sizes(workload, *attention, target);
    append_attention(workload, *attention, sizes, worth_threads(workload.stages.back(), threads), steps);
    if (is_legal(workload, steps)) return Schedule{std::move(steps)};
  }
  const Structure structure = structure_of(workload);
  if (const std::optional<Rows> rows = rows_of(workload, ports)) {
    std::vector<Step> steps;
    if (const Storage storage = read_storage(workload, structure, target, allowed);
        storage != Storage::kDefined)
      append_narrowing(workload, *structure.anchor, ports, {storage}, steps);
    const RowSizes sizes = default_row_sizes(workload, *rows, target.fp32_lanes());
    append_rows(workload, *rows, sizes, worth_threads(workload.stages.back(), threads), steps);
    if (is_legal(workload, steps)) return Schedule{std::move(steps)};
  }
  if (const int64_t tile =
          allows(allowed, kWinograd) ? choose_winograd_tile(workload, structure, ports, target) : 0) {
    const WinogradFrame frame = *winograd_frame(workload, structure, ports, target, tile);
    std::vector<Step> steps;
    append_winograd(frame, default_winograd_tiling(frame, target, threads), steps);
    if (is_legal(workload, steps)) return Schedule{std::move(steps)};
  }
  if (structure.anchor) {
    const Storage storage = storages(workload, structure, ports, target, allowed).front();
    Schedule schedule = anchored_schedule(workload, ports, target, threads, storage);
    if (is_legal(workload, schedule.steps)) return schedule;
  }
  std::vector<Step> steps;
  append_separate(workload, structure, ports, target, threads, steps);
  if (is_legal(workload, steps)) return Schedule{std::move(steps)};
  return Schedule{};  // plain loops are always legal
}

}  // namespace tf::schedule
