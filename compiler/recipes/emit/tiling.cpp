#include "compiler/recipes/emit/tiling.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace tf::recipes {

using namespace schedule;  // NOLINT: the language being written
namespace {

std::string part(char axis, size_t index, int piece) {
  return absl::StrCat(std::string(1, axis), index, ".", piece);
}

std::string whole(char axis, size_t index) {
  return absl::StrCat(std::string(1, axis), index);
}

struct OutputLoops {
  std::string block;  // the innermost loop around the tiles of a block; "" if there is none
  std::string tile;   // the innermost loop around the elements of a tile
};

// The output's loops: blocks, partial sums, tiles of a block, elements of a tile.
OutputLoops tile_output(const RegisterTile& tile, Steps& steps) {
  const auto vector = static_cast<size_t>(tile.vector_axis);
  std::vector<std::string> around, blocks, tiles, elements;
  std::string lanes;
  for (size_t axis = 0; axis < tile.axes.size(); ++axis) {
    const AxisTile& sizes = tile.axes[axis];
    if (sizes.cut == Cut::kNone) {
      around.push_back(whole('i', axis));
      continue;
    }
    const bool in_blocks = sizes.cut == Cut::kBlocks;
    Split split{tile.output, whole('i', axis), {}, Tail::kGuard};
    if (in_blocks) split.factors.push_back(sizes.middle);
    split.factors.push_back(sizes.tile);
    if (axis == vector) split.factors.push_back(tile.lanes);
    steps.push_back(std::move(split));
    int piece = 0;
    if (in_blocks) blocks.push_back(part('i', axis, piece++));
    const bool first = axis == vector && tile.vector_axis_outside;
    tiles.insert(first ? tiles.begin() : tiles.end(), part('i', axis, piece++));
    elements.push_back(part('i', axis, piece++));
    if (axis == vector) lanes = part('i', axis, piece);
  }
  blocks.insert(blocks.begin(), around.begin(), around.end());
  std::vector<std::string> outer = blocks;
  if (tile.accumulates) outer.push_back(whole('r', 0));
  outer.insert(outer.end(), tiles.begin(), tiles.end());
  append_tile_loops(tile.output, {std::move(outer), elements, {lanes}}, steps);

  // Only threads gain from one long loop: in separate ones the edge tiles peel off more easily.
  if (tile.parallel && tile.fused > 0) {
    TF_CHECK(static_cast<size_t>(tile.fused) <= blocks.size()) << tile.output << " has fewer blocks to fuse";
    const std::vector<std::string> fused(blocks.begin(), blocks.begin() + tile.fused);
    if (fused.size() > 1) steps.push_back(Fuse{tile.output, fused});
    const std::string parallel = absl::StrJoin(fused, "*");
    steps.push_back(Annotate{tile.output, parallel, Annotation::kParallel});
    blocks.erase(blocks.begin(), blocks.begin() + tile.fused);
    blocks.insert(blocks.begin(), parallel);
  }
  return {blocks.empty() ? "" : blocks.back(), tiles.back()};
}

// The reduction's loops: outer reduce loops, inner ones, then the tile, unrolled, with its vectors innermost.
void tile_reduction(const RegisterTile& tile, Steps& steps) {
  const size_t first = tile.accumulates ? 1 : 0;
  const size_t vector = static_cast<size_t>(tile.vector_axis) + first;
  TileLoops loops;
  std::vector<std::string> inner;
  for (size_t axis = 0; axis < tile.axes.size(); ++axis)
    if (tile.axes[axis].cut == Cut::kNone) loops.outer.push_back(whole('i', axis + first));
  for (size_t axis = 0; axis < tile.reduce_inner.size(); ++axis) {
    if (!tile.reduce_inner[axis]) {
      loops.outer.push_back(whole('r', axis));
      continue;
    }
    Split split{tile.reduction, whole('r', axis), {*tile.reduce_inner[axis]}, Tail::kGuard};
    if (axis == 0 && tile.group > 1) split.factors.push_back(tile.group);
    steps.push_back(std::move(split));
    loops.outer.push_back(part('r', axis, 0));
    inner.push_back(part('r', axis, 1));
  }
  loops.outer.insert(loops.outer.end(), inner.begin(), inner.end());
  steps.push_back(Split{tile.reduction, whole('i', vector), {tile.lanes}, Tail::kGuard});
  // The vectors of one row stand together, innermost: what they share (one broadcast) then lives in a
  // register for a row only, and what the rows share takes as many registers as a row has vectors.
  if (tile.accumulates) loops.unrolled.push_back(whole('i', 0));
  for (size_t axis = 0; axis < tile.axes.size(); ++axis)
    if (axis + first != vector && tile.axes[axis].cut != Cut::kNone)
      loops.unrolled.push_back(whole('i', axis + first));
  loops.unrolled.push_back(part('i', vector, 0));
  if (tile.group > 1) loops.innermost.push_back(part('r', 0, 2));
  loops.innermost.push_back(part('i', vector, 1));
  append_tile_loops(tile.reduction, loops, steps);
}

void append_squares(const FlatLoops& copy, Steps& steps) {
  std::vector<std::string> outer;
  for (int axis = 0; axis < copy.rank; ++axis) {
    const auto index = static_cast<size_t>(axis);
    const bool tiled = axis == copy.vector_axis || axis == *copy.moved_from;
    if (tiled) steps.push_back(Split{copy.stage, whole('i', index), {copy.lanes}, Tail::kGuard});
    outer.push_back(tiled ? part('i', index, 0) : whole('i', index));
  }
  const std::string row = part('i', static_cast<size_t>(*copy.moved_from), 1),
                    column = part('i', static_cast<size_t>(copy.vector_axis), 1);
  Reorder order{copy.stage, outer};
  order.loops.insert(order.loops.end(), {row, column});
  steps.push_back(std::move(order));
  steps.push_back(Annotate{copy.stage, column, Annotation::kUnroll});
  if (!copy.parallel) return;
  steps.push_back(Fuse{copy.stage, outer});
  steps.push_back(Annotate{copy.stage, absl::StrJoin(outer, "*"), Annotation::kParallel});
}

}  // namespace

void append_tile_loops(const std::string& stage, const TileLoops& loops, Steps& steps) {
  Reorder order{stage, loops.outer};
  order.loops.insert(order.loops.end(), loops.unrolled.begin(), loops.unrolled.end());
  order.loops.insert(order.loops.end(), loops.innermost.begin(), loops.innermost.end());
  steps.push_back(std::move(order));
  for (const std::string& loop : loops.unrolled) steps.push_back(Annotate{stage, loop, Annotation::kUnroll});
  steps.push_back(Annotate{stage, loops.innermost.back(), Annotation::kVectorize});
}

std::string append_register_tile(const RegisterTile& tile, Steps& steps) {
  const OutputLoops loops = tile_output(tile, steps);
  steps.push_back(ComputeAt{tile.reduction, tile.output, loops.tile, tensor::Scope::kRegister});
  tile_reduction(tile, steps);
  return loops.block;
}

void append_packing(const Packing& packing, Steps& steps) {
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

void append_flat_loops(const FlatLoops& loops, Steps& steps) {
  if (loops.rank == 0) return;
  if (loops.moved_from) return append_squares(loops, steps);
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

}  // namespace tf::recipes
