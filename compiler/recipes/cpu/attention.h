#pragma once
// Owns: the recipe of attention: two products with row-wise stages between them (scores, softmax, weighted sum of values),
// the block's and the register tiles' sizes are open.
//
// The scores of a block of rows live in the caches from the first product to the second, and the whole of
// them never exists (after Dao et al., "FlashAttention", 2022, with a block of whole rows, so that nothing is
// computed twice or rescaled). Blocks of keys with a running maximum (Milakov, Gimelshein, "Online normalizer
// calculation for softmax", 2018) would gain nothing on a CPU before the scores of 16 rows outgrow the second
// cache: of a Zen 4 core's FMA peak this form reaches 82, 80, 81, 82 and 77% at 128, 512, 2048, 4096 and 8192
// keys of heads of 64 (1 MB of L2), and the rest is mostly the exponentials. For t0 scores, t1 … t4 softmax
// as in row_steps.h, t5 the result, blocks of two tiles of 8 rows:
//
//   parallel for i0*i1*i2.0                       blocks of rows
//     allocate t0[16, 128], t4[16, 128]
//     for i2.0 in 2, for i3.0 in 4                register tiles of scores: 8 rows by 2 vectors
//       t0.acc = 0; for r0 in 64: t0.acc += p0[…, r0] * p1[r0, …]
//       t0[…] = t0.acc[…]
//     for i2 in 16: …                             softmax of a row
//     for i2.1 in 2, for i3.0 in 2                register tiles of the result
//       t5.acc = 0; for r0 in 128: t5.acc += t4[…, r0] * p3[r0, …]
//       t5[…] = t5.acc[…]

#include <vector>

#include "compiler/recipes/sketch.h"

namespace tf::recipes {

std::vector<Sketch> attention(const tensor::KernelSpec& kernel);

}  // namespace tf::recipes
