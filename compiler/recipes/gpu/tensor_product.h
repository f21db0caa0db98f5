#pragma once
// Owns: the recipe of products by matrix instructions. Does not know: how these are printed.

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

// Of a block: warps_m x warps_n warps, or as many times four of them, each (or four of them) of which computes tiles_m x tiles_n tiles of the instruction's m x n, in `steps`
// of its k from one filling of shared memory to the next.
struct TensorTile {
  int64_t warps_m = 2, warps_n = 2;
  int64_t tiles_m = 4, tiles_n = 8;
  int64_t steps = 2;
  int64_t stages = 3;  // fillings of shared memory at a time, where the target copies asynchronously
  int64_t group = 1;   // rows of blocks that run together
  int64_t bulk = 0;    // 1: the copy engine fills shared memory; of instructions that read it
};

// Of products y[…, m, n] = Σ over k of a · b, of elements that a matrix instruction of the target multiplies and adds up as
// the definition does: f16 and bf16 in f32, bytes in i32; and of f32 where the numerics allow fp16 or bf16, which both
// factors are then rounded to, or tf32. Element-wise stages around are part of the copies and of the
// stores. The tile is open; its default is the given one, but no larger than the product needs. Where the target has
// instructions of four warps (wgmma), there is a sketch for each of their widths, too; the best guess comes first.
std::vector<Sketch> tensor_product_on_gpu(const tensor::KernelSpec& kernel, const TensorTile& by_default);
std::vector<Sketch> tensor_product_on_gpu(
    const tensor::KernelSpec& kernel);  // with the tile above, or one that gives a GPU more blocks

}  // namespace tf::recipes
