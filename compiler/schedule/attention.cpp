#include "compiler/schedule/attention.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/ceil_div.h"
#include "compiler/schedule/structure.h"
#include "compiler/schedule/tile_cost.h"

namespace tf::schedule {
namespace {

using tensor::Stage;
using tensor::Workload;

std::string loop(int axis) {
  return absl::StrCat("i", axis);
}
std::string part(int axis, int piece) {
  return absl::StrCat("i", axis, ".", piece);
}

// The axis along which rows of weights lie, if the stage is Σ weights[…, row, r] * values[…, r, …, column]
// over its own axes, of which the last one is `column`.
std::optional<int> weighted_rows(const Stage& stage, const tensor::BufferNode* weights) {
  const size_t rank = stage.axes.size();
  if (rank < 2 || stage.reduce_axes.size() != 1 || stage.combiner != tensor::Combiner::kSum)
    return std::nullopt;
  constexpr int kReduce = -1, kOne = -2, kElse = -3;
  // What runs along the dimension of a loaded buffer: an axis of the stage, the sum, or nothing.
  auto runs_along = [&](const tensor::Load& load, size_t d) {
    if (load.indices[d].get() == stage.reduce_axes[0].var.get()) return kReduce;
    for (size_t axis = 0; axis < rank; ++axis)
      if (load.indices[d].get() == stage.axes[axis].var.get()) return static_cast<int>(axis);
    const bool one = tensor::as_int(load.indices[d]) == 0 && tensor::as_int(load.buffer->extents[d]) == 1;
    return one ? kOne : kElse;
  };
  const int column = static_cast<int>(rank) - 1;
  std::vector<int> left, right;
  int loads = 0;
  tensor::for_each(stage.body, [&](const tensor::Expr& e) {
    const auto* load = tensor::as<tensor::Load>(e);
    if (load == nullptr) return true;
    ++loads;
    std::vector<int>& along = load->buffer.get() == weights ? left : right;
    for (size_t d = 0; d < load->indices.size(); ++d) along.push_back(runs_along(*load, d));
    return true;
  });
  if (loads != 2 || left.size() != rank || right.size() != rank || left.back() != kReduce ||
      left[rank - 2] < 0 || right.back() != column)
    return std::nullopt;
  const int row = left[rank - 2];
  for (int axis = 0; axis < column; ++axis) {
    const bool needed = extent_of(stage.axes[static_cast<size_t>(axis)]) > 1 && axis != row;
    const auto times = std::ranges::count(left, axis);
    if (times > 1 || (needed && times == 0) || std::ranges::count(right, axis) > 1) return std::nullopt;
  }
  const bool fits = std::ranges::count(left, kReduce) == 1 && std::ranges::count(right, kReduce) == 1 &&
                    std::ranges::count(left, column) == 0 && std::ranges::count(right, row) == 0 &&
                    std::ranges::count(left, kElse) + std::ranges::count(right, kElse) == 0;
  return fits ? std::optional(row) : std::nullopt;
}

// The axes of a product in a batch; columns run along the last axis.
struct ProductAxes {
  std::vector<int> batch;
  int row = 0, column = 0;
};
ProductAxes product_axes(const Stage& stage, int row) {
  ProductAxes axes{{}, row, static_cast<int>(stage.axes.size()) - 1};
  for (int axis = 0; axis < axes.column; ++axis)
    if (axis != row) axes.batch.push_back(axis);
  return axes;
}

// The loops of a register tile: what holds it, in the order of the axes, then `inner`, unrolled, and its
// lanes.
class ProductSteps {
 public:
  ProductSteps(std::string name, ProductAxes axes, const AttentionSizes& sizes, std::vector<Step>& steps)
      : name_(std::move(name)), axes_(std::move(axes)), sizes_(sizes), steps_(steps) {}

  // The product itself, an element-wise reader of NAME.acc by now: rows and columns in tiles.
  void tile(const std::vector<std::string>& outer, const std::string& row, const std::string& column) {
    Reorder order{name_, outer};
    order.loops.insert(order.loops.end(), {row, column + ".1", column + ".2"});
    steps_.push_back(order);
    steps_.push_back(Annotate{name_, row, Annotation::kUnroll});
    steps_.push_back(Annotate{name_, column + ".1", Annotation::kUnroll});
    steps_.push_back(Annotate{name_, column + ".2", Annotation::kVectorize});
  }

  // The accumulators of one tile, in registers.
  void accumulate(const std::string& place) {
    const std::string sum = name_ + ".acc", row = loop(axes_.row), column = loop(axes_.column);
    steps_.push_back(ComputeAt{sum, name_, place, tensor::Scope::kRegister});
    steps_.push_back(Split{sum, column, {sizes_.lanes}, Tail::kGuard});
    Reorder order{sum, {}};
    for (int axis : axes_.batch) order.loops.push_back(loop(axis));
    order.loops.insert(order.loops.end(), {"r0", row, column + ".0", column + ".1"});
    steps_.push_back(order);
    steps_.push_back(Annotate{sum, row, Annotation::kUnroll});
    steps_.push_back(Annotate{sum, column + ".0", Annotation::kUnroll});
    steps_.push_back(Annotate{sum, column + ".1", Annotation::kVectorize});
  }

 private:
  const std::string name_;
  const ProductAxes axes_;
  const AttentionSizes& sizes_;
  std::vector<Step>& steps_;
};

int64_t vectors_of(const Stage& stage, int64_t lanes) {
  return ceil_div(extent_of(stage.axes.back()), lanes);
}

}  // namespace

std::optional<Attention> attention_of(const Workload& workload, const PortLayouts& ports) {
  if (workload.stages.size() < 2 || workload.outputs.size() != 1) return std::nullopt;
  const Stage& last = workload.stages.back();
  const tensor::Buffer weights = workload.stages[workload.stages.size() - 2].output;
  const std::optional<int> row = weighted_rows(last, weights.get());
  if (!last.output.same_as(workload.outputs[0]) || !ports.output(0).is_row_major() || !row)
    return std::nullopt;
  Attention attention;
  attention.row = *row;
  attention.inner = workload;
  attention.inner.stages.pop_back();
  attention.inner.outputs = {weights};
  const std::optional<Rows> rows = rows_with_product(attention.inner, {ports.inputs, {}});
  if (!rows || rows->across) return std::nullopt;
  attention.rows = *rows;
  // All but the last axis of the weights are row axes, and the product gives whole rows.
  const size_t rank = last.axes.size();
  if (rows->row_axes.size() != rank - 1 || rows->row_axes.back() != static_cast<int>(rank) - 2)
    return std::nullopt;
  for (size_t s = 0; s < rows->stages.size(); ++s) {
    if (!rows->stages[s].product) continue;
    attention.scores = static_cast<int>(s);
    if (attention.inner.stages[s].axes.size() != rank || attention.inner.stages[s].reduce_axes.size() != 1 ||
        rows->stages[s].vector_axis != static_cast<int>(rank) - 1)
      return std::nullopt;
  }
  return attention;
}

AttentionSizes default_attention_sizes(const Workload& workload, const Attention& attention,
                                       const target::Target& target) {
  AttentionSizes sizes;
  const Stage& result = workload.stages.back();
  const Stage& scores = workload.stages[static_cast<size_t>(attention.scores)];
  sizes.lanes = target.fp32_lanes();
  while (sizes.lanes > 1 && sizes.lanes >= 2 * extent_of(result.axes.back())) sizes.lanes /= 2;
  sizes.row = default_row_sizes(attention.inner, attention.rows, target.fp32_lanes());
  const int64_t rows = extent_of(result.axes[static_cast<size_t>(attention.row)]);
  // Both products have the same rows, and the same work.
  const int64_t score_vectors = vectors_of(scores, sizes.lanes),
                value_vectors = vectors_of(result, sizes.lanes);
  double least = std::numeric_limits<double>::infinity();
  constexpr int64_t kMostRows = 14;
  for (int64_t tile = 1; tile <= std::min(kMostRows, rows); ++tile) {
    auto cheapest = [&](int64_t vectors) {
      return cheapest_tile({.inner = rows, .vectors = vectors}, {.least_inner = tile, .most_inner = tile},
                           target);
    };
    const TileChoice first = cheapest(score_vectors), second = cheapest(value_vectors);
    const double cycles = first.cycles / static_cast<double>(score_vectors) +
                          second.cycles / static_cast<double>(value_vectors);
    if (cycles >= least) continue;
    least = cycles;
    sizes.rows = tile;
    sizes.score_vectors = first.sizes.vectors;
    sizes.value_vectors = second.sizes.vectors;
  }
  constexpr int64_t kBlockRows = 16;
  sizes.block_tiles = std::max<int64_t>(1, kBlockRows / sizes.rows.value);
  return sizes;
}

void append_attention(const Workload& workload, const Attention& attention, const AttentionSizes& sizes,
                      bool parallel, std::vector<Step>& steps) {
  const int last = static_cast<int>(workload.stages.size()) - 1, weights = last - 1;
  const ProductAxes of_rows = product_axes(workload.stages.back(), attention.row);
  const std::string result = stage_name(last), scores = stage_name(attention.scores);
  RowSteps rows(attention.inner, attention.rows, sizes.row, steps);
  rows.prepare();
  steps.push_back(CacheWrite{scores});
  steps.push_back(CacheWrite{result});

  // The result: blocks of rows, tiles of a block.
  const int row = of_rows.row, column = of_rows.column;
  steps.push_back(Split{result, loop(row), {sizes.block_tiles, sizes.rows}, Tail::kGuard});
  steps.push_back(Split{result, loop(column), {sizes.value_vectors, Size(sizes.lanes)}, Tail::kGuard});
  std::vector<std::string> blocks;
  for (int axis : of_rows.batch) blocks.push_back(loop(axis));
  blocks.push_back(part(row, 0));
  std::vector<std::string> outer = blocks;
  outer.insert(outer.end(), {part(row, 1), part(column, 0)});
  ProductSteps of_result(result, of_rows, sizes, steps);
  of_result.tile(outer, part(row, 2), loop(column));
  std::string block = blocks.back();
  if (parallel) {
    if (blocks.size() > 1) steps.push_back(Fuse{result, blocks});
    block = absl::StrJoin(blocks, "*");
    steps.push_back(Annotate{result, block, Annotation::kParallel});
  }
  of_result.accumulate(part(column, 0));

  // The weights of a block, row by row.
  const ProductAxes of_keys =
      product_axes(workload.stages[static_cast<size_t>(attention.scores)], column - 1);
  steps.push_back(ComputeAt{stage_name(weights), result, block, tensor::Scope::kGlobal});
  rows.shape_block();
  rows.place(loop(of_keys.row));

  // The scores of a block, before any row of it.
  steps.push_back(ComputeAt{scores, result, block, tensor::Scope::kGlobal});
  steps.push_back(Split{scores, loop(of_keys.row), {sizes.rows}, Tail::kGuard});
  steps.push_back(Split{scores, loop(column), {sizes.score_vectors, Size(sizes.lanes)}, Tail::kGuard});
  std::vector<std::string> around;
  for (int axis : of_keys.batch) around.push_back(loop(axis));
  around.insert(around.end(), {part(of_keys.row, 0), part(column, 0)});
  ProductSteps of_scores(scores, of_keys, sizes, steps);
  of_scores.tile(around, part(of_keys.row, 1), loop(column));
  of_scores.accumulate(part(column, 0));
  for (int s = 0; s < weights; ++s)
    if (attention.rows.stages[static_cast<size_t>(s)].place == RowStage::Place::kStored &&
        s != attention.scores)
      rows.shape(static_cast<size_t>(s));
}

}  // namespace tf::schedule
