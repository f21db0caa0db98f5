#include "compiler/schedule/default_schedule.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/analysis/access.h"
#include "compiler/schedule/attention.h"
#include "compiler/schedule/gpu_schedule.h"
#include "compiler/schedule/operand_storage.h"
#include "compiler/schedule/row_steps.h"
#include "compiler/schedule/structure.h"
#include "compiler/schedule/tiling.h"
#include "compiler/schedule/winograd_tiling.h"

namespace tf::schedule {
namespace {

using tensor::Stage;
using tensor::Workload;

int64_t extent_of(const tensor::Axis& axis) {
  return tensor::as_int(axis.extent).value_or(1);
}

int64_t round_up(int64_t value, int64_t step) {
  return (value + step - 1) / step * step;
}

// Work below this many iterations is not worth waking threads for.
constexpr double kWorthThreads = 4096;

bool worth_threads(const Stage& stage, int threads) {
  double iterations = threads > 1 ? 1 : 0;
  for (const tensor::Axis& axis : stage.axes) iterations *= static_cast<double>(extent_of(axis));
  for (const tensor::Axis& axis : stage.reduce_axes) iterations *= static_cast<double>(extent_of(axis));
  return iterations >= kWorthThreads;
}

// Where the stage only moves elements that do not lie next to each other where they come from: the axis along
// which they do there, or -1 if that is none of its own. A gather takes longer than its elements one by one.
std::optional<int> gathered_along(const Workload& workload, const Stage& stage, int axis,
                                  const PortLayouts& ports) {
  const tensor::VarNode* var = stage.axes[static_cast<size_t>(axis)].var.get();
  const auto* load = tensor::as<tensor::Load>(stage.body);
  if (load == nullptr) return std::nullopt;
  size_t innermost = load->indices.size() - 1;
  for (size_t i = 0; i < workload.inputs.size(); ++i)
    if (workload.inputs[i].buffer.same_as(load->buffer) && !ports.input(workload, i).is_row_major())
      innermost = static_cast<size_t>(ports.input(workload, i).axes.back().axis);
  bool gathered = false;
  for (size_t dim = 0; dim < load->indices.size(); ++dim) {
    const bool moves = analysis::uses(load->indices[dim], var);
    if (moves && dim == innermost) return std::nullopt;
    gathered = gathered || moves;
  }
  if (!gathered) return std::nullopt;
  for (size_t d = 0; d < stage.axes.size(); ++d)
    if (load->indices[innermost].get() == stage.axes[d].var.get()) return static_cast<int>(d);
  return -1;
}

void append_flat(const Workload& workload, const Stage& stage, const std::string& name,
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
    return append_squares({name, loops.rank, loops.vector_axis, *from, loops.parallel}, steps);
  loops.vectorized = lanes >= 2 && !from;
  loops.lanes = lanes;
  append_flat_loops(loops, steps);
}

// The input whose first reduce index walks a blocked axis: its block, so that splitting the reduction by it
// makes indices linear.
int64_t input_reduce_block(const Workload& workload, int anchor, const PortLayouts& ports,
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

// What share of the threads' time is work when `blocks` equal pieces of it are dealt.
double busy_share(int64_t blocks, int threads) {
  const int64_t rounds = (blocks + threads - 1) / threads;
  return static_cast<double>(blocks) / static_cast<double>(rounds * threads);
}

// How many of the outer loops become one parallel loop, and what share of the threads' time is then work: all
// but the last, which alone is a loop of few instructions more, unless with it they share the work better.
struct Parallel {
  int fused = 1;
  double busy = 1;
};
Parallel choose_parallel(const Stage& stage, const std::vector<int64_t>& tiles, const Prepared& prepared,
                         int threads) {
  constexpr double kOfFusingAll = 0.97;
  int64_t outer = 1, last = 1;
  for (size_t axis = 0; axis < tiles.size(); ++axis) {
    const int64_t size = tiles[axis] * (static_cast<int>(axis) == prepared.vector_axis ? prepared.lanes : 1);
    outer *= last;
    last = round_up(extent_of(stage.axes[axis]), size) / size;
  }
  const auto rank = static_cast<int>(tiles.size());
  const double busy = busy_share(outer, threads), busy_all = kOfFusingAll * busy_share(outer * last, threads);
  if (rank == 1 || busy_all > busy) return {rank, busy_all};
  return {rank - 1, busy};
}

// Rows go to the innermost axes other than the vector axis; the split that wastes least of efficiency, edges
// and threads wins.
std::vector<int64_t> choose_tiles(const Stage& stage, const Prepared& prepared, const target::Target& target,
                                  int threads) {
  const auto rank = stage.axes.size();
  const auto vector = static_cast<size_t>(prepared.vector_axis);
  const int64_t vectors_needed = round_up(extent_of(stage.axes[vector]), prepared.lanes) / prepared.lanes;
  std::vector<size_t> row_axes;  // innermost first
  for (size_t axis = rank; axis-- > 0;) {
    if (axis != vector && row_axes.size() < 2) row_axes.push_back(axis);
  }
  const int64_t extent0 = row_axes.empty() ? 1 : extent_of(stage.axes[row_axes[0]]);
  const int64_t extent1 = row_axes.size() < 2 ? 1 : extent_of(stage.axes[row_axes[1]]);
  constexpr int64_t kMaxRows = 32, kMaxOuterRows = 4, kMaxVectors = 8;
  std::vector<int64_t> best(rank, 1);
  double best_score = 0;
  for (int64_t vectors = 1; vectors <= std::min(kMaxVectors, vectors_needed); ++vectors) {
    for (int64_t outer = 1; outer <= std::min(kMaxOuterRows, extent1); ++outer) {
      for (int64_t inner = 1; inner <= std::min(kMaxRows, extent0); ++inner) {
        const double waste = static_cast<double>(round_up(extent0, inner) * round_up(extent1, outer) *
                                                 round_up(vectors_needed, vectors)) /
                             static_cast<double>(extent0 * extent1 * vectors_needed);
        std::vector<int64_t> tiles(rank, 1);
        if (!row_axes.empty()) tiles[row_axes[0]] = inner;
        if (row_axes.size() > 1) tiles[row_axes[1]] = outer;
        tiles[vector] = vectors;
        const double score = tile_efficiency(inner * outer, vectors, target) / waste *
                             choose_parallel(stage, tiles, prepared, threads).busy;
        if (score <= best_score * 1.0001) continue;
        best_score = score;
        best = std::move(tiles);
      }
    }
  }
  return best;
}

// Everything of Prepared that does not depend on steps.
Prepared frame_of(const Workload& workload, const Structure& structure, const PortLayouts& ports,
                  const target::Target& target) {
  const Stage& output = workload.stages[static_cast<size_t>(structure.output)];
  Prepared prepared;
  prepared.vector_axis = vector_axis(output, ports.output(0));
  prepared.lanes = target.fp32_lanes();
  const int64_t extent = extent_of(output.axes[static_cast<size_t>(prepared.vector_axis)]);
  while (prepared.lanes > 1 && prepared.lanes >= 2 * extent) prepared.lanes /= 2;
  prepared.reduce_block = input_reduce_block(workload, *structure.anchor, ports, structure.producers);
  return prepared;
}

ProductTile product_tile(const Prepared& prepared, const std::vector<int64_t>& tiles) {
  ProductTile tile{prepared.vector_axis, tiles};
  tile.elements[static_cast<size_t>(prepared.vector_axis)] *= prepared.lanes;
  return tile;
}

bool reads_one_operand(const Stage& stage) {
  std::set<const tensor::BufferNode*> operands;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    if (const auto* load = tensor::as<tensor::Load>(e)) operands.insert(load->buffer.get());
    return true;
  });
  return operands.size() == 1;
}

// A weighted sum over a small window of one channel, as depthwise convolutions are: its inner loops are few
// operations on what neighbours read too.
bool slides_over_one_channel(const Stage& stage) {
  constexpr int64_t kLargestWindow = 32;
  return stage.axes.size() == 4 && stage.reduce_axes.size() == 2 && !reads_one_operand(stage) &&
         extent_of(stage.reduce_axes[0]) * extent_of(stage.reduce_axes[1]) <= kLargestWindow;
}

// By how much the window moves from one row of the result to the next.
int64_t row_stride(const Stage& stage) {
  int64_t stride = 1;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr || load->indices.size() != 4) return true;
    auto at = [&](int64_t row) {
      const tensor::Substitution values = {{stage.axes[2].var.get(), tensor::imm(row)},
                                           {stage.reduce_axes[0].var.get(), tensor::imm(0)}};
      return tensor::as_int(tensor::substitute(load->indices[2], values)).value_or(0);
    };
    stride = std::max(stride, at(1) - at(0));
    return true;
  });
  return stride;
}

// The whole window is unrolled, so that neighbours share their loads; a few results at a time, because edges
// then are few copies. Where rows overlap less, several of them are needed to share anything.
DefaultTile window_tile(const Stage& stage, const Prepared& prepared) {
  DefaultTile tile;
  tile.tiles.assign(4, 1);
  tile.blocks.assign(4, 1);
  tile.reduce_inner = {extent_of(stage.reduce_axes[0]), extent_of(stage.reduce_axes[1])};
  std::vector<size_t> rows;
  for (size_t axis = 0; axis < 4; ++axis)
    if (static_cast<int>(axis) != prepared.vector_axis) rows.push_back(axis);
  const bool strided = row_stride(stage) > 1;
  tile.tiles[rows[2]] = std::min<int64_t>(strided ? 2 : 4, extent_of(stage.axes[rows[2]]));
  tile.tiles[rows[1]] = std::min<int64_t>(strided ? 4 : 1, extent_of(stage.axes[rows[1]]));
  tile.unroll = 512;
  return tile;
}

void append_anchored(const Workload& workload, const Structure& structure, const PortLayouts& ports,
                     const target::Target& target, int threads, std::vector<Step>& steps) {
  const Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  const ProductChoice choice = choose_product(workload, structure, ports, target, threads);
  const Prepared prepared = append_preparation(
      workload, structure, ports, target, threads,
      {.producers = default_producers(workload, structure, ports),
       .sums = choice.sums,
       .partial_sum = choice.partial_sum},
      steps);
  const DefaultTile sizes = default_tile(anchor, prepared, target, threads);
  const bool parallel = worth_threads(anchor, threads);
  append_operand_storage(workload, structure, prepared,
                         sizes.tiles[static_cast<size_t>(prepared.vector_axis)], choice.pack, parallel,
                         steps);
  std::vector<AxisTile> axes;
  for (size_t axis = 0; axis < sizes.tiles.size(); ++axis)
    axes.push_back({sizes.blocks[axis], sizes.tiles[axis]});
  RegisterTile tile = register_tile(anchor, prepared, std::move(axes), sizes.fused);
  for (int64_t size : sizes.reduce_inner) tile.reduce_inner.push_back(size);
  tile.parallel = parallel;
  append_register_tile(tile, steps);
  if (sizes.unroll > 0) steps.push_back(Pragma{tile.reduction, PragmaKind::kUnrollLimit, sizes.unroll});
}

// Every stage by itself; element-wise ones with one reader disappear into it.
void append_separate(const Workload& workload, const Structure& structure, const PortLayouts& ports,
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
    append_flat(workload, stage, stage_name(static_cast<int>(i)), layout, ports, target, threads, steps);
  }
}

bool is_legal(const Workload& workload, const std::vector<Step>& steps) {
  return apply(workload, Schedule{steps}).ok();
}

}  // namespace

double tile_efficiency(int64_t rows, int64_t vectors, const target::Target& target) {
  const int64_t accumulators = rows * vectors;
  const int64_t registers = target.vector.registers > 0 ? target.vector.registers : 16;
  if (accumulators + vectors + 1 > registers) return 0;
  constexpr double kLatencyTimesPipes = 8;
  constexpr double kFmaPerCycle = 2, kLoadsPerCycle = 2;
  const double pipes = std::max(static_cast<double>(accumulators), kLatencyTimesPipes) / kFmaPerCycle;
  const double loads = static_cast<double>(rows + vectors) / kLoadsPerCycle;
  // Loads hide behind arithmetic only in part; the fewer of them, the better.
  return static_cast<double>(accumulators) / kFmaPerCycle / (std::max(pipes, loads) + 0.1 * loads);
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
  tile.accumulates = prepared.sums == Sums::kAccumulated;
  tile.vector_axis_outside = matrix_product(anchor, prepared.vector_axis).has_value();
  if (prepared.sums == Sums::kShared) {
    tile.axes.insert(tile.axes.begin(), AxisTile{});
    ++tile.vector_axis;
    ++tile.fused;
  }
  return tile;
}

Producers default_producers(const Workload& workload, const Structure& structure, const PortLayouts& ports) {
  const Stage& output = workload.stages[static_cast<size_t>(structure.output)];
  const Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  // A window reads an element only a few times: less than storing a padded copy costs.
  const bool few = reads_one_operand(anchor) ||
                   (slides_over_one_channel(anchor) && vector_axis(output, ports.output(0)) == 1);
  return few ? Producers::kInlined : Producers::kStored;
}

DefaultTile default_tile(const Stage& anchor, const Prepared& prepared, const target::Target& target,
                         int threads) {
  if (slides_over_one_channel(anchor) && prepared.vector_axis == 1) {
    DefaultTile tile = window_tile(anchor, prepared);
    tile.fused = choose_parallel(anchor, tile.tiles, prepared, threads).fused;
    return tile;
  }
  DefaultTile tile;
  tile.tiles = choose_tiles(anchor, prepared, target, threads);
  tile.blocks.assign(tile.tiles.size(), 1);
  // A window's places become constants, which boundaries between blocks can be found at.
  if (reads_one_operand(anchor)) tile.unroll = 256;
  tile.fused = choose_parallel(anchor, tile.tiles, prepared, threads).fused;
  if (const std::optional<MatrixProduct> product = matrix_product(anchor, prepared.vector_axis)) {
    tile.blocks = choose_blocks(anchor, *product, product_tile(prepared, tile.tiles), threads);
    tile.fused = static_cast<int>(anchor.axes.size());
  }
  for (size_t axis = 0; axis < anchor.reduce_axes.size(); ++axis) {
    const int64_t extent = extent_of(anchor.reduce_axes[axis]);
    const bool whole_blocks = axis == 0 && extent % prepared.reduce_block == 0;
    tile.reduce_inner.push_back(whole_blocks ? std::max<int64_t>(prepared.reduce_block / prepared.group, 1)
                                             : 1);
  }
  return tile;
}

ProductChoice choose_product(const Workload& workload, const Structure& structure, const PortLayouts& ports,
                             const target::Target& target, int threads) {
  const Prepared prepared = frame_of(workload, structure, ports, target);
  const Stage& anchor = workload.stages[static_cast<size_t>(*structure.anchor)];
  const std::optional<MatrixProduct> product = matrix_product(anchor, prepared.vector_axis);
  if (!product) return {};
  const std::vector<int64_t> tiles = choose_tiles(anchor, prepared, target, threads);
  return choose_product(workload, anchor, *product, product_tile(prepared, tiles), target, threads);
}

Prepared append_preparation(const Workload& workload, const Structure& structure, const PortLayouts& ports,
                            const target::Target& target, int threads, const PreparationOptions& options,
                            std::vector<Step>& steps) {
  const int anchor = *structure.anchor;
  Prepared prepared = frame_of(workload, structure, ports, target);

  prepared.group = dot_group(workload, anchor, prepared.vector_axis, ports, target);
  const bool cuts_blocks = prepared.reduce_block > 1 && prepared.reduce_block % prepared.group != 0;
  const bool cuts_parts = options.partial_sum.is_open() || options.partial_sum.value % prepared.group != 0;
  if (cuts_blocks || cuts_parts) prepared.group = 1;

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
    append_flat(workload, workload.stages[static_cast<size_t>(producer)], name, layout, ports, target,
                threads, steps);
  }
  for (int stage : structure.epilogue) steps.push_back(Inline{stage_name(stage)});
  prepared.output = stage_name(structure.output);
  prepared.reduction = stage_name(anchor);
  prepared.sums = options.sums;
  if (options.sums != Sums::kWhole) {
    steps.push_back(Split{prepared.reduction, "r0", {options.partial_sum}, Tail::kGuard});
    steps.push_back(RFactor{prepared.reduction, "r0.0"});
    if (anchor != structure.output)
      append_flat(workload, workload.stages[static_cast<size_t>(structure.output)], prepared.output,
                  ports.output(0), ports, target, threads, steps);
    prepared.output = prepared.reduction;
    prepared.reduction += ".rf";
    if (options.sums == Sums::kShared) {
      constexpr int kOneThread = 1;  // for what is as small as a few results
      append_flat(workload, workload.stages[static_cast<size_t>(anchor)], prepared.output,
                  anchor == structure.output ? ports.output(0) : tensor::Layout{}, ports, target, kOneThread,
                  steps);
      prepared.output = prepared.reduction;
      steps.push_back(CacheWrite{prepared.output});
      prepared.reduction += ".acc";
    }
  } else if (anchor == structure.output) {
    steps.push_back(CacheWrite{prepared.output});
    prepared.reduction = absl::StrCat(prepared.output, ".acc");
  }
  return prepared;
}

Schedule default_schedule(const Workload& workload, const PortLayouts& ports, const target::Target& target,
                          int threads, const Numerics& allowed) {
  if (target.is_gpu()) return gpu_schedule(workload);
  if (const std::optional<Attention> attention = attention_of(workload, ports)) {
    std::vector<Step> steps;
    const AttentionSizes sizes = default_attention_sizes(workload, *attention, target);
    append_attention(workload, *attention, sizes, worth_threads(workload.stages.back(), threads), steps);
    if (is_legal(workload, steps)) return Schedule{std::move(steps)};
  }
  if (const std::optional<Rows> rows = rows_of(workload, ports)) {
    std::vector<Step> steps;
    const RowSizes sizes = default_row_sizes(workload, *rows, target.fp32_lanes());
    append_rows(workload, *rows, sizes, worth_threads(workload.stages.back(), threads), steps);
    if (is_legal(workload, steps)) return Schedule{std::move(steps)};
  }
  const Structure structure = structure_of(workload);
  if (const int64_t tile =
          allows(allowed, kWinograd) ? choose_winograd_tile(workload, structure, ports, target) : 0) {
    const WinogradFrame frame = *winograd_frame(workload, structure, ports, target, tile);
    std::vector<Step> steps;
    append_winograd(frame, default_winograd_tiling(frame, target, threads), steps);
    if (is_legal(workload, steps)) return Schedule{std::move(steps)};
  }
  if (structure.anchor) {
    std::vector<Step> steps;
    append_anchored(workload, structure, ports, target, threads, steps);
    if (is_legal(workload, steps)) return Schedule{std::move(steps)};
  }
  std::vector<Step> steps;
  append_separate(workload, structure, ports, target, threads, steps);
  if (is_legal(workload, steps)) return Schedule{std::move(steps)};
  return Schedule{};  // plain loops are always legal
}

}  // namespace tf::schedule
