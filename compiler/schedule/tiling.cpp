#include "compiler/schedule/tiling.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tf::schedule {
namespace {

std::string part(char axis, size_t index, int piece) {
  return absl::StrCat(std::string(1, axis), index, ".", piece);
}

std::string whole(char axis, size_t index) {
  return absl::StrCat(std::string(1, axis), index);
}

// The vector axis first or in its place.
std::vector<std::string> in_order(std::vector<std::string> loops, size_t vector, bool vector_first) {
  if (vector_first)
    std::rotate(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(vector),
                loops.begin() + static_cast<std::ptrdiff_t>(vector) + 1);
  return loops;
}

// The output's loops: blocks, partial sums, tiles of a block, elements of a tile; returns the innermost loop
// outside of the tile.
std::string tile_output(const RegisterTile& tile, std::vector<Step>& steps) {
  const auto vector = static_cast<size_t>(tile.vector_axis);
  std::vector<std::string> blocks, tiles, elements;
  for (size_t axis = 0; axis < tile.axes.size(); ++axis) {
    Split split{tile.output, whole('i', axis), {tile.axes[axis].middle, tile.axes[axis].tile}, Tail::kGuard};
    if (axis == vector) split.factors.push_back(tile.lanes);
    steps.push_back(std::move(split));
    blocks.push_back(part('i', axis, 0));
    tiles.push_back(part('i', axis, 1));
    elements.push_back(part('i', axis, 2));
  }
  const std::string lanes = part('i', vector, 3);
  tiles = in_order(std::move(tiles), vector, tile.vector_axis_outside);
  Reorder order{tile.output, blocks};
  if (tile.accumulates) order.loops.push_back(whole('r', 0));
  order.loops.insert(order.loops.end(), tiles.begin(), tiles.end());
  order.loops.insert(order.loops.end(), elements.begin(), elements.end());
  order.loops.push_back(lanes);
  steps.push_back(std::move(order));
  for (const std::string& loop : elements) steps.push_back(Annotate{tile.output, loop, Annotation::kUnroll});
  steps.push_back(Annotate{tile.output, lanes, Annotation::kVectorize});

  const std::vector<std::string> fused(blocks.begin(), blocks.begin() + tile.fused);
  // Only threads gain from one long loop: in separate ones the edge tiles peel off more easily.
  if (tile.parallel && !fused.empty()) {
    if (fused.size() > 1) steps.push_back(Fuse{tile.output, fused});
    steps.push_back(Annotate{tile.output, absl::StrJoin(fused, "*"), Annotation::kParallel});
  }
  return tiles.back();
}

// The reduction's loops: outer reduce loops, inner ones, then the tile, unrolled, with its vectors innermost.
void tile_reduction(const RegisterTile& tile, std::vector<Step>& steps) {
  const size_t first = tile.accumulates ? 1 : 0;
  const size_t vector = static_cast<size_t>(tile.vector_axis) + first;
  Reorder order{tile.reduction, {}};
  std::vector<std::string> inner;
  for (size_t axis = 0; axis < tile.reduce_inner.size(); ++axis) {
    Split split{tile.reduction, whole('r', axis), {tile.reduce_inner[axis]}, Tail::kGuard};
    if (axis == 0 && tile.group > 1) split.factors.push_back(tile.group);
    steps.push_back(std::move(split));
    order.loops.push_back(part('r', axis, 0));
    inner.push_back(part('r', axis, 1));
  }
  order.loops.insert(order.loops.end(), inner.begin(), inner.end());
  steps.push_back(Split{tile.reduction, whole('i', vector), {tile.lanes}, Tail::kGuard});
  // The vectors of one row stand together, innermost: what they share (one broadcast) then lives in a
  // register for a row only, and what the rows share takes as many registers as a row has vectors.
  std::vector<std::string> unrolled;
  for (size_t axis = 0; axis < tile.axes.size() + first; ++axis)
    if (axis != vector) unrolled.push_back(whole('i', axis));
  unrolled.push_back(part('i', vector, 0));
  order.loops.insert(order.loops.end(), unrolled.begin(), unrolled.end());
  if (tile.group > 1) order.loops.push_back(part('r', 0, 2));
  order.loops.push_back(part('i', vector, 1));
  steps.push_back(std::move(order));
  for (const std::string& loop : unrolled)
    steps.push_back(Annotate{tile.reduction, loop, Annotation::kUnroll});
  steps.push_back(Annotate{tile.reduction, part('i', vector, 1), Annotation::kVectorize});
}

}  // namespace

void append_register_tile(const RegisterTile& tile, std::vector<Step>& steps) {
  const std::string place = tile_output(tile, steps);
  steps.push_back(ComputeAt{tile.reduction, tile.output, place, tensor::Scope::kRegister});
  tile_reduction(tile, steps);
}

void append_packing(const Packing& packing, std::vector<Step>& steps) {
  CacheRead read{packing.source, packing.reader, {}, tensor::Scope::kGlobal};
  const auto vector = static_cast<size_t>(packing.vector_axis);
  std::vector<std::string> outer;
  for (int axis = 0; axis < packing.rank; ++axis) {
    if (axis == packing.vector_axis || axis == packing.reduce_axis) continue;
    read.layout.axes.push_back({axis, 0});
    outer.push_back(whole('i', static_cast<size_t>(axis)));
  }
  read.layout.axes.push_back({packing.vector_axis, 0});
  read.layout.axes.push_back({packing.reduce_axis, 0});
  read.layout.push_back(packing.vector_axis, packing.vectors);
  read.layout.axes.push_back({packing.vector_axis, packing.lanes});
  if (packing.group > 1) read.layout.axes.push_back({packing.reduce_axis, packing.group});
  const std::string copy = packing.source + ".pack";
  const auto reduce = static_cast<size_t>(packing.reduce_axis);
  const std::string tiles = part('i', vector, 0), vectors = part('i', vector, 1),
                    lanes = part('i', vector, 2);
  steps.push_back(std::move(read));
  steps.push_back(Split{copy, whole('i', vector), {packing.vectors, packing.lanes}, Tail::kGuard});
  Reorder order{copy, outer};
  if (packing.group > 1) {  // a group of elements at a time: in its order they stand nowhere else
    steps.push_back(Split{copy, whole('i', reduce), {packing.group}, Tail::kGuard});
    const std::string groups = part('i', reduce, 0), element = part('i', reduce, 1);
    const bool rows_first = packing.reduce_axis < packing.vector_axis;
    outer.push_back(rows_first ? groups : tiles);
    order.loops.insert(order.loops.end(),
                       {rows_first ? groups : tiles, rows_first ? tiles : groups, vectors, lanes, element});
    steps.push_back(std::move(order));
    steps.push_back(Annotate{copy, element, Annotation::kUnroll});
  } else if (packing.reduce_axis <
             packing.vector_axis) {  // whole vectors, in the order of the source: page by page
    outer.push_back(whole('i', reduce));
    order.loops.insert(order.loops.end(), {whole('i', reduce), tiles, vectors, lanes});
    steps.push_back(std::move(order));
    steps.push_back(Annotate{copy, vectors, Annotation::kUnroll});
    steps.push_back(Annotate{copy, lanes, Annotation::kVectorize});
  } else {  // squares, of which the first cache holds both sides
    constexpr int64_t kSquare = 16;
    outer.push_back(tiles);
    steps.push_back(Split{copy, whole('i', reduce), {kSquare}, Tail::kGuard});
    order.loops.insert(order.loops.end(),
                       {tiles, part('i', reduce, 0), vectors, lanes, part('i', reduce, 1)});
    steps.push_back(std::move(order));
    steps.push_back(Annotate{copy, part('i', reduce, 1), Annotation::kUnroll});
  }
  if (!packing.parallel) return;
  if (outer.size() > 1) steps.push_back(Fuse{copy, outer});
  steps.push_back(Annotate{copy, absl::StrJoin(outer, "*"), Annotation::kParallel});
}

void append_flat_loops(const FlatLoops& loops, std::vector<Step>& steps) {
  const auto vector = static_cast<size_t>(loops.vector_axis);
  // In the order of the axes, which is that of memory in row-major and in blocked layouts alike.
  std::vector<std::string> outer;
  for (size_t axis = 0; axis < static_cast<size_t>(loops.rank); ++axis) {
    outer.push_back(axis == vector && loops.vectorized ? part('i', axis, 0) : whole('i', axis));
  }
  std::vector<std::string> order = outer;
  for (size_t axis = 0; axis < static_cast<size_t>(loops.reduce_rank); ++axis)
    order.push_back(whole('r', axis));
  if (loops.vectorized) {
    steps.push_back(Split{loops.stage, whole('i', vector), {loops.lanes}, Tail::kGuard});
    order.push_back(part('i', vector, 1));
    steps.push_back(Reorder{loops.stage, order});
    steps.push_back(Annotate{loops.stage, part('i', vector, 1), Annotation::kVectorize});
  }
  if (!loops.parallel || outer.empty()) return;
  // The innermost of them stays a loop of its own, so that one parallel iteration is worth its call.
  if (outer.size() > 1) outer.pop_back();
  if (outer.size() > 1) steps.push_back(Fuse{loops.stage, outer});
  steps.push_back(Annotate{loops.stage, absl::StrJoin(outer, "*"), Annotation::kParallel});
}

void append_squares(const SquareCopy& copy, std::vector<Step>& steps) {
  std::vector<std::string> outer;
  for (int axis = 0; axis < copy.rank; ++axis) {
    const auto index = static_cast<size_t>(axis);
    const bool tiled = axis == copy.to || axis == copy.from;
    if (tiled) steps.push_back(Split{copy.stage, whole('i', index), {copy.side}, Tail::kGuard});
    outer.push_back(tiled ? part('i', index, 0) : whole('i', index));
  }
  const std::string row = part('i', static_cast<size_t>(copy.from), 1),
                    column = part('i', static_cast<size_t>(copy.to), 1);
  Reorder order{copy.stage, outer};
  order.loops.insert(order.loops.end(), {row, column});
  steps.push_back(std::move(order));
  steps.push_back(Annotate{copy.stage, column, Annotation::kUnroll});
  if (!copy.parallel) return;
  steps.push_back(Fuse{copy.stage, outer});
  steps.push_back(Annotate{copy.stage, absl::StrJoin(outer, "*"), Annotation::kParallel});
}

}  // namespace tf::schedule
