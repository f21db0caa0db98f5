#pragma once
// Owns: the loops of a Winograd convolution, with sizes as literals (the default schedule) or left open (the
// tuner's sketches), and the choice of its tile. Channels are the vectors everywhere; a block of tiles is
// transformed, multiplied for a block of output channels at a time, and transformed back while it is in the
// cache:
//
//   parallel for blocks of tiles                       i0, i2.0, i3.0
//     t1.v: for channels, for tiles of the block:        transforms in registers
//     for blocks of output channels                    i1.0
//       t1.m: for u, v: register tiles over (y, x, k)    as any product's
//       for tiles of the block, for vectors of channels  i2.1, i3.1, i1.1
//         the output transform and the epilogue          in registers

#include <optional>
#include <string>
#include <vector>

#include "compiler/recipes/emit/tiling.h"
#include "compiler/recipes/shape/structure.h"
#include "compiler/schedule/numerics.h"
#include "compiler/target/target.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::recipes {

// What a Winograd schedule of a workload starts from.
struct WinogradFrame {
  std::string convolution, output;
  std::vector<std::string> producers, epilogue;  // stages to inline
  int weights = -1;                              // the input's number
  int64_t taps = 0, points = 0;                  // r, m + r - 1
  int64_t tile = 0;                              // m
  int64_t batch = 1, out_channels = 1, tiles_h = 1, tiles_w = 1;
  int64_t in_channels = 1;      // that one output channel sums over: those of its group
  int64_t all_in_channels = 1;  // that are transformed: those of all groups
  int64_t lanes = 1;
};

// Nothing unless the workload's anchor takes the step `winograd` with that tile, channels are innermost in
// the output's layout and at least a vector long, and groups are whole vectors of them.
std::optional<WinogradFrame> winograd_frame(const tensor::KernelSpec& kernel, int64_t tile);

// Sizes, in tiles of m x m outputs and in vectors of channels.
struct WinogradTiling {
  Size block_h = 1, block_w = 1;  // tiles transformed at once
  Size block_k = 1;               // vectors of output channels multiplied before they are transformed back
  Size rows_h = 1, rows_w = 1;    // the product's register tile: tiles
  Size rows_k = 1;                // and vectors of output channels
  Size reduce_inner = 1;          // input channels of the innermost loop
  bool whole_input = false;       // all tiles are transformed before any product
  bool parallel = false;
};

void append_winograd(const WinogradFrame& frame, const WinogradTiling& tiling, Steps& steps);

// The sizes that the default schedule takes; all literals.
WinogradTiling default_winograd_tiling(const WinogradFrame& frame, const target::Target& target, int threads);

// The tile with the least estimated time, or 0 if computing by the definition takes less.
int64_t choose_winograd_tile(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
