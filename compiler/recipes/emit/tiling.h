#pragma once
// Owns: the steps of a register-tiled reduction with fused epilogue, with sizes as literals (the default
// schedule) or left open (the tuner's sketches): the loop structure is written once, here.
//
// For a matmul with bias (t0 reduction, t1 output), tiles 6 and 2x16, in parallel over blocks:
//
//   parallel for i0.0*i1.0                      blocks of rows and columns
//     for i0.1, for i1.1                        tiles of one block, for the caches
//       allocate t0[6, 32] in registers
//       t0 = 0
//       for r0.0, for r0.1                      the whole reduction
//         unrolled for i0 in 6, for i1.0 in 2
//           vector for i1.1 in 16
//             t0[i0, i1] += p0[…, r] * p1[r, …]
//       unrolled for i0.2 in 6, i1.2 in 2
//         vector for i1.3 in 16
//           t1[…] = t0[…] + p2[…]

#include <optional>
#include <string>
#include <vector>

#include "compiler/recipes/steps.h"

namespace tf::recipes {

// Into which loops an axis of the output is cut.
enum class Cut : uint8_t {
  kBlocks,  // blocks, tiles, elements
  kTiles,   // tiles, elements: all tiles are one block
  kNone,    // the axis as it is, around the blocks, and around the sum of a tile
};

struct AxisTile {
  Size middle = 1;  // tiles in one block
  Size tile = 1;    // of the vector axis: vectors, of `lanes` elements each
  Cut cut = Cut::kBlocks;
};

struct RegisterTile {
  std::string reduction;       // computed at the tile, in registers; its axes are those of `output`
  std::string output;          // element-wise reader
  std::vector<AxisTile> axes;  // one an axis of the output
  int vector_axis = 0;
  int64_t lanes = 16;
  // One a reduce axis: the inner factor of its split, if it is split.
  std::vector<std::optional<Size>> reduce_inner;
  int64_t group = 1;  // if above 1: so many terms of the first reduce axis, innermost, for one dot
  int fused = 1;      // if `parallel`, this many outer loops become one parallel loop
  bool parallel = true;
  // The tiles of a block: those of the other axes pass by one of the vector axis, whose operand stays in
  // cache.
  bool vector_axis_outside = false;
  // `output` adds up partial sums (of rfactor), over a reduce loop between blocks and tiles; `reduction` has
  // that loop as an axis before those of `output`.
  bool accumulates = false;
};

// Returns the innermost loop around the tiles of a block; "" if there is none.
std::string append_register_tile(const RegisterTile& tile, Steps& steps);

// All loops of a stage, from outside in.
struct TileLoops {
  std::vector<std::string> outer;
  std::vector<std::string> unrolled;
  std::vector<std::string> innermost;  // the last one a vector
};
void append_tile_loops(const std::string& stage, const TileLoops& loops, Steps& steps);

// A copy of an operand, made before `reader` runs, in which the tiles of a register tile's vector axis stand
// one after another: axes other than these two, tiles, reduction, vectors of a tile, lanes.
//
//   cache_read p1 t0.acc 1,0,1:4,1:16      (vector axis 1, reduce axis 0, tiles of 4 vectors of 16)
struct Packing {
  std::string source, reader;
  int rank = 2;
  int vector_axis = 1, reduce_axis = 0;  // of the source
  Size vectors = 1;
  int64_t lanes = 16;
  int64_t group =
      1;  // of neighbours along the reduction, for one dot product: they stand together, innermost
  bool parallel = true;
};
void append_packing(const Packing& packing, Steps& steps);

// Loops of a stage that stands alone: its axes in order, the vector axis in vectors of `lanes` innermost (not
// vectorized: as it is), reduce loops serial around them; all but the last axis fused into one parallel loop, if asked.
// None for a stage without axes.
struct FlatLoops {
  std::string stage;
  int rank = 1;
  int reduce_rank = 0;
  int vector_axis = 0;
  bool vectorized = true;
  Size lanes = 16;
  bool parallel = true;
  // Of a stage that only moves elements, which lie next to each other along the vector axis where they go and along this
  // axis where they come from: one by one, in squares of `lanes` a side, of which the first cache holds both sides. A
  // gather would take longer; this is bound by one store a cycle.
  std::optional<int> moved_from = std::nullopt;
};

void append_flat_loops(const FlatLoops& loops, Steps& steps);

}  // namespace tf::recipes
