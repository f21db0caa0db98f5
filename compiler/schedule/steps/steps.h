#pragma once
// Owns: the legality and the effect of each step, with an example before → after. Does not know: how steps are
// written (text.cpp), or who chooses them.
//
// apply_step changes the state, or says why the step is illegal.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// --- split.
// The loop becomes 1 + factors.size() loops; the innermost have the factors as extents, the outermost
// what is left, rounded up.
//
//   split t0 i0 4 (extent 10)
//   for i0 in 10            →  for i0.0 in 3
//     t0[i0] = …                 for i0.1 in 4
//                                  if i0.0*4 + i0.1 < 10
//                                    t0[i0.0*4 + i0.1] = …
//
//   split t0 i0 4 shift: no guard, the last tile starts at 10 - 4:
//                              for i0.0 in 3
//                                for i0.1 in 4
//                                  t0[min(i0.0*4, 6) + i0.1] = …
//
// Legal if the loop exists, every factor is at least 1 and literal, and no other stage is computed at that
// loop or inside it but outside of where the factors go. A shifted tail needs an element-wise stage and an
// extent of at least the product of the factors.
// Of each factor and of their product: far more than any loop has, and products of two still fit.
inline constexpr int64_t kMaxSplitFactor = int64_t{1} << 30;
std::optional<Illegal> apply_step(StateData& data, const Split& step);

// --- fuse.
// Adjacent loops become one.
//
//   fuse t0 i0,i1
//   for i0 in 4         →  for i0*i1 in 12
//     for i1 in 3            t0[i0*i1 // 3, i0*i1 % 3] = …
//       t0[i0, i1] = …
//
// Legal for two or more neighbouring loops, outermost first, all spatial or all of the reduction, that no
// other stage is computed in or inside of. The fused loop is serial.
std::optional<Illegal> apply_step(StateData& data, const Fuse& step);

// --- reorder.
// The stage's loops stand in the given order.
//
//   reorder t0 r0,i1,i0
//   for i0 in 4             →  for r0 in 8
//     for i1 in 3                for i1 in 3
//       for r0 in 8                for i0 in 4
//         t0[i0, i1] += …            t0[i0, i1] += …
//
// Legal if every loop of the stage is named once, a vectorized loop stays innermost, and the loops from the
// outermost to the innermost one that other stages are computed in keep their places.
std::optional<Illegal> apply_step(StateData& data, const Reorder& step);

// --- annotate.
// Says how the loop runs.
//
//   annotate t0 i1 vectorize
//   for i0 in 4             →  for i0 in 4
//     for i1 in 16               t0[i0, 0:16] = …   (one vector operation)
//       t0[i0, i1] = …
//
//   annotate t0 r0 vectorize: the lanes are folded, which is a licence to reassociate
//   for i0 in 4             →  for i0 in 4
//     t0[i0] = 0                 t0[i0] = 0
//     for r0 in 16               t0[i0] = t0[i0] + reduce_add(a[i0, 0:16])
//       t0[i0] = t0[i0] + a[i0, r0]
//
// Legal: parallel, on a spatial loop of a stage at root, once a nest; vectorize, on the innermost loop, not
// of a product, of extent at most kMaxVectorLanes, with no stage computed in it; unroll, up to
// kMaxUnrollExtent; grid loops, on spatial loops of a stage at root; thread loops, on spatial loops with no
// stage computed in them. Inside another stage a thread loop runs over the threads around it, which must be
// enough; the stage is then in scope shared. Along an axis of threads that none of its loops runs over, the first thread
// computes it. There thread_x may be the last loop of a stage, its reduction: a term a lane, which shuffles combine, so that
// all lanes have the result. That takes as many lanes as the loop around has threads, up to a warp's 32, and whole warps, of
// which no thread stays away.
//
//   annotate t0 r0 thread_x
//   for x in 32 thread_x                       for x in 32 thread_x
//     t0.rf[x] = …                      →        t0.rf = …
//     barrier; t0 = t0.rf[0] + …                 t0 = t0.rf; fold sum t0 lanes 32
inline constexpr int64_t kMaxVectorLanes = 64;
inline constexpr int64_t kMaxUnrollExtent = 256;
std::optional<Illegal> apply_step(StateData& data, const Annotate& step);

// --- pragma.
// unroll_limit N unrolls the stage's innermost serial loops as long as they make at most N copies of
// the body.
//
//   pragma t0 unroll_limit 8
//   for i0 in 16            →  for i0 in 16
//     for i1 in 2                for i1 in 2 unrolled
//       for i2 in 4                for i2 in 4 unrolled
//
// Legal for 0 … kMaxUnrollLimit.
inline constexpr int64_t kMaxUnrollLimit = 1024;
std::optional<Illegal> apply_step(StateData& data, const Pragma& step);

// --- compute_at.
// The stage is computed inside the consumer's loop, only the region that one iteration of it needs,
// into a buffer of that region's size. Its loops then run over the region.
//
//   compute_at t0 t1 i0 register
//   for i0 in 8                   →  for i0 in 8
//     for i1 in 4                      allocate t0[4] register
//       t0[i0, i1] = …                 for i1 in 4
//   for i0 in 8                          t0[i1] = …
//     for i1 in 4                      for i1 in 4
//       t1[i0, i1] = t0[i0, i1]          t1[i0, i1] = t0[i1]
//
// Legal if the stage is at root, no output, not split, fused or reordered, holds no other stage, is not
// parallel, of the grid or of threads, and all its readers are the consumer or computed inside that loop. A register region is at most
// kMaxRegisterBytes, a shared one kMaxSharedBytes.
//
// A region of scope fragment is held by the lanes of a warp (or of four), for matrix instructions (tensorize): the loop is
// one of extent 32 (128) over thread_x, or inside one. It holds what all lanes need; thread loops of y and z stand still.
//
// A shared region is one thread block's: it holds what all threads around the loop need. Lowering puts
// barriers around its computation, in which the threads of the block take part by
// `annotate STAGE LOOP thread_x`.
inline constexpr int64_t kMaxRegisterBytes = 16 << 10;
inline constexpr int64_t kMaxFragmentBytes = 1 << 10;  // of one lane: all registers that a thread can have
inline constexpr int64_t kMaxSharedBytes = 227 << 10;  // of a GPU with the most
std::optional<Illegal> apply_step(StateData& data, const ComputeAt& step);

// --- root.
// Undoes compute_at: the stage is computed whole, before its readers.
//
//   root t0
//   for i0 in 8                       →  for i0 in 8
//     allocate t0[4]                       for i1 in 4
//     for i1 in 4                            t0[i0, i1] = …
//       t0[i1] = …                       for i0 in 8
//     for i1 in 4                          for i1 in 4
//       t1[i0, i1] = t0[i1]                  t1[i0, i1] = t0[i0, i1]
//
// Legal if the stage is placed by compute_at, was not reshaped since, no stage is computed inside it, and it
// reads none that is placed by compute_at.
std::optional<Illegal> apply_step(StateData& data, const Root& step);

// --- inline.
// An element-wise stage becomes part of each reader's body and is not stored.
//
//   inline t0
//   t0[i] = a[i] * 2       →   t1[i] = a[i] * 2 + 1
//   t1[i] = t0[i] + 1
//
// Legal if the stage has no reduction, is no output, is at root with no stage computed inside it, and has a
// reader.
std::optional<Illegal> apply_step(StateData& data, const Inline& step);

// --- cache_read.
// Adds a stage SOURCE.pack that copies the source, stored in `layout`; `reader` reads the copy.
// Placed inside the reader's loops by compute_at it packs one tile at a time.
//
//   cache_read p1 t0 1,0 global
//   t0[i, j] = sum(r) a[i, r] * b[r, j]    →   p1.pack[r, j] = b[r, j]      (stored with r innermost)
//                                              t0[i, j] = sum(r) a[i, r] * p1.pack[r, j]
//
// Legal if the reader reads the source, which is an input or a stage at root, and holds no stage itself that
// would no longer be read there.
std::optional<Illegal> apply_step(StateData& data, const CacheRead& step);

// --- recompute.
// The reader reads a copy of the stage, STAGE.again, so that each is computed where its own readers need it, instead of once.
//
//   recompute t0 t2
//   t0[i] = a[i] * 2        →   t0[i] = a[i] * 2; t0.again[i] = a[i] * 2
//   t1 = sum(i) t0[i]           t1 = sum(i) t0[i]
//   t2[i] = t0[i] / t1          t2[i] = t0.again[i] / t1
//
// Legal for a stage at root, not split, fused or reordered, that holds no other and reads none that is placed by compute_at, if
// others than that reader need it.
std::optional<Illegal> apply_step(StateData& data, const Recompute& step);

// --- cache_write.
// The stage computes into a copy, NAME.acc, which can be placed and tiled by itself; the stage
// becomes its element-wise reader.
//
//   cache_write t0
//   t0[i, j] = sum(r) a[i, r] * b[r, j]    →   t0.acc[i, j] = sum(r) a[i, r] * b[r, j]
//                                              t0[i, j] = t0.acc[i, j]
//
// Legal if the stage is not inlined, not split, fused or reordered, holds no other stage and reads none that
// is placed by compute_at.
std::optional<Illegal> apply_step(StateData& data, const CacheWrite& step);

// --- layout_rewrite.
// The buffer of a constant input or of a stage's own result is stored in that order. Constants are
// packed when a model is built, outside the measured time.
//
//   layout_rewrite p1 0,1,2,3,1:16,0:16
//   p1: f32[64, 64, 3, 3]   →   p1: f32[64, 64, 3, 3] stored as [4, 4, 3, 3, 16, 16]
//
// Legal for constant inputs and stages that are no output, with a layout of the buffer's rank. The layout of a stage computed
// inside another holds for its region. Only stages can have a swizzle ("1,0,1:64^3:3:3"), which takes effect where the stage
// lies in shared memory.
inline constexpr int64_t kMaxLayoutBlock = 4096;

// Row-major, or every axis stands exactly once without a block and literal blocks are at least 1.
bool is_layout_of(const OpenLayout& layout, int rank);
// Nothing if it is one, and its open blocks are.
std::optional<Illegal> check_layout(StateData& data, const OpenLayout& layout, int rank);
std::optional<Illegal> apply_step(StateData& data, const LayoutRewrite& step);

// --- storage_align.
// One step along `axis`, the last but one, moves by a multiple of `factor` elements, plus `offset`.
//
//   storage_align t0 0 16 1
//   t0: f32[8, 10], pitch of axis 0: 10   →   pitch 17
//
// Legal for row-major buffers of rank 2 and more of stages that are no output.
inline constexpr int64_t kMaxPadElements = 4096;
std::optional<Illegal> apply_step(StateData& data, const StorageAlign& step);

// --- narrow.
// The buffer of a constant input or of an element-wise stage's own result holds its f32 values as
// bf16 or f16, rounded to nearest; readers widen what they load, so that sums and results stay f32. Constants
// are converted when a model is built, before they are packed.
//
//   narrow p1 bf16
//   t0[i, j] = sum(r) p0[i, r] * p1[r, j]    →    t0[i, j] = sum(r) p0[i, r] * f32(p1[r, j])
//
// Legal for constants and for stages at root that are element-wise and no output, all of f32; not after
// `winograd`, whose transforms multiply the error of what lies between them. It costs accuracy (numerics.h).
std::optional<Illegal> apply_step(StateData& data, const Narrow& step);

// --- pipeline.
// What the loop's iterations copy into shared memory is on its way STAGES - 1 iterations before it is read, in a ring of as many
// tiles. Copies of single elements and of vectors are asynchronous where the device has such copies; else, and for
// stages that compute something, the threads make them at the same place.
//
//   pipeline t0 r0.0 3
//   for r0.0 in 8                                    allocate p0.pack[3, 64] shared
//     allocate p0.pack[64] shared                    barrier
//     barrier                                        p0.pack[0, …] ← tile 0; end of a group of copies
//     p0.pack[…] = p0[…]   (tile r0.0)       →       p0.pack[1, …] ← tile 1
//     barrier                                        for r0.0 in 8
//     t0[…] += p0.pack[…] …                            wait until at most 1 group is on its way; barrier
//                                                      if r0.0 + 2 < 8
//                                                        p0.pack[(r0.0 + 2) % 3, …] ← tile r0.0 + 2
//                                                      t0[…] += p0.pack[r0.0 % 3, …] …
//
// One barrier an iteration is enough: the tile that is overwritten was read before it, one iteration earlier.
// Legal for a serial loop in which element-wise stages are computed in shared memory that read no placed stage, for 1 (no
// pipeline) to kMaxPipelineStages stages; their rings together take at most kMaxSharedBytes. The loop stays serial; a stage that
// is computed there later joins the pipeline.
//
// With `bulk 1` the device's copy engine (CUDA's TMA, of sm_90 and later) makes those copies that it can, each tile in one piece
// and started by one thread, if they are copied ahead and matrix instructions read them from shared memory by themselves (wgmma):
//
//   pipeline t0 r0.0 3 bulk 1
//
// Legal if it can make one of them: a row-major input as it is, of constant extents, whose rows begin at multiples of 16 bytes, in
// lines of 128 bytes along its last axis with their swizzle ("1,0,1:64^3:3:3" of f16).
inline constexpr int64_t kMaxPipelineStages = 8;
std::optional<Illegal> apply_step(StateData& data, const Pipeline& step);

// --- raster.
// The blocks of a grid of two axes run in another order: GROUP rows (of grid_y) at a time, down each column of such a group. Blocks
// that run at the same time then read fewer different tiles, which stay in the cache that all share.
//
//   raster t0 2   (grid_x 3, grid_y 4)
//   0  1  2             0  2  4
//   3  4  5      →      1  3  5
//   6  7  8             6  8 10
//   9 10 11             7  9 11
//
// Legal for a stage with a grid_x loop and a grid_y loop and no stage computed between the two, for groups of 1 (as they are) to kMaxRasterGroup.
inline constexpr int64_t kMaxRasterGroup = 64;
std::optional<Illegal> apply_step(StateData& data, const Raster& step);

// --- cross_thread.
// So many threads stand in each iteration of the stage's loops, in a new loop x, y or z inside of the spatial ones, but for lanes; the stage is
// computed by the first of them. What is computed in that loop, they compute together: with rfactor, the partial results of a
// reduction, each thread some, and what combines them.
//
//   split t0 r0 64; rfactor t0 r0.1               for i0 in 8 grid_x
//   annotate t0 i0 grid_x                           for x in 64 thread_x
//   cross_thread t0 thread_x 64                       allocate t0.rf[64] shared
//   compute_at t0.rf t0 x shared                      t0.rf[x] = 0
//   annotate t0.rf i0 thread_x                 →      for r0 in 16
//                                                       t0.rf[x] = t0.rf[x] + a[i0, r0 * 64 + x]
//                                                     barrier
//                                                     if x < 1
//                                                       t0[i0] = 0
//                                                       for r0 in 64
//                                                         t0[i0] = t0[i0] + t0.rf[r0]
//
// A second rfactor, of t0, makes a tree of it: few threads combine some of the partial results each.
// Legal for a stage at root that holds no other and has no threads of that axis, for 1 to kMaxBlockThreads threads. The loop
// cannot be vectorized.
inline constexpr int64_t kMaxBlockThreads = 1024;  // of a GPU with the most
std::optional<Illegal> apply_step(StateData& data, const CrossThread& step);

// --- rfactor.
// Partial results over one reduce loop become a stage of their own, NAME.rf, with that loop as its
// first axis; the stage then only combines the partial results.
//
//   split t0 r0 16; rfactor t0 r0.0 (extent of r0: 64)
//   t0[i] = sum(r0) a[i, r0]     →   t0.rf[k, i] = sum(r) a[i, k*16 + r]     k in 4, r in 16
//                                    t0[i] = sum(r0) t0.rf[r0, i]
//
// Combining in another order changes rounding: the step is the schedule's licence to reassociate. Legal for a
// reduce loop of a stage whose spatial loops are as they started, that holds no stage and reads none that is
// placed by compute_at.
std::optional<Illegal> apply_step(StateData& data, const RFactor& step);

// --- offset.
// One factor of a sum of products of bytes is moved by half of its range, so that it has the other
// sign: x86 multiplies unsigned by signed bytes. What that adds to each sum is the same for all elements of
// the moved factor, `value` times the sum of the other factor's elements: readers take it off. Of a constant,
// these sums are one more constant, the next input, made outside of the measured time (StateData::sums); of
// anything else they are a stage before STAGE, STAGE.sums.
//
//   offset t0 p0 128
//   t0[i, j] = sum(r) i32(p0[i, r]) * i32(p1[r, j])    →    p2[0, j] = sum(r) i32(p1[r, j])
//                                                           t0[i, j] = sum(r) (i32(p0[i, r]) + 128)
//                                                                              * i32(p1[r, j])
//   t1[i, j] = t0[i, j]                                     t1[i, j] = t0[i, j] - 128 * p2[0, j]
//
// A factor that a stage makes for this sum alone, element by element (a padded image), is stored moved: then
// the sum itself adds nothing to what it reads.
//
//   offset t1 t0 128
//   t0[i, r] = p0[i, r]                                →    t0[i, r] = u8(p0[i, r]) + 128, of u8
//   t1[i, j] = sum(r) i32(t0[i, r]) * i32(p1[r, j])         t1[i, j] = sum(r) i32(t0[i, r]) * i32(p1[r, j])
//
// Exact: i32 wraps. Legal for a stage that is no output and sums such products in i32, of loads without
// predicates, over whole axes of the other factor: for i8 by 128, for u8 by -128.
std::optional<Illegal> apply_step(StateData& data, const Offset& step);

// --- tensorize.
// The three innermost loops, from LOOP on, become one matrix instruction, which the lanes of a warp run together.
//
//   tensorize t0.acc i0.1 mma_m16n8k16_f16
//   for r0.0 in 4                                  t0.acc[0:32, 0:16] = 0           (tile by tile)
//     p0.pack.pack[0:32, 0:16] = …           →     for r0.0 in 4
//     p1.pack.pack[0:16, 0:16] = …                   p0.pack.pack[0:16, 0:16] = …   (load_a, tile by tile)
//     for i0.0 in 2                                  p1.pack.pack[0:16, 0:8] = …    (load_b, tile by tile)
//       for i1.0 in 2                                for i0.0 in 2
//         for i0.1 in 16                               for i1.0 in 2
//           for i1.1 in 8                                t0.acc[i0.0*16 +: 16, i1.0*8 +: 8] +=
//             for r0.1 in 16                                 p0.pack.pack[i0.0*16 +: 16, 0:16]
//               t0.acc[…] += f32(p0.pack.pack[…])                * p1.pack.pack[0:16, i1.0*8 +: 8]
//                            * f32(p1.pack.pack[…])
//
// Legal for a sum of products that compute_at placed in scope fragment, inside a loop over the 32 lanes of a warp
// (thread_x), whose factors are copies by cache_read: of scope fragment, computed inside it, of copies in shared memory. The
// loops run over rows, columns and terms, of the instruction's extents; regions are whole tiles. Terms beyond the
// reduction are zeros in the shared copies. Readers of the sums touch, in each lane, what the instruction's lane map gives
// it; lowering refuses others. The loops of these stages are fixed from then on.
//
// An instruction that reads shared memory (wgmma) takes its factors from the shared copies: these have lines of 128 bytes (or
// 64, or 32), one behind the other, of neighbours along one axis, the first along the other axis, and the swizzle of such lines:
// "1,0,1:64^3:3:3" of f16. Lines are of terms or, of 16 bits, of rows or columns. The lanes are the 128 of four warps. It runs
// while the threads go on: lowering fences it, publishes what was copied and waits for it.
//
//   tensorize t0.acc i0.1 wgmma_m64n64k16_f16             t0.acc[0:64, 0:64] = 0
//   for r0.0 in 4                                         for r0.0 in 4
//     p0.pack[0:64, 0:64] = …                               p0.pack[0:64, 0:64] = …; p1.pack[0:64, 0:64] = …
//     p1.pack[0:64, 0:64] = …                               publish; barrier; fence
//     for r0.1 in 4                                  →      for r0.1 in 4
//       for i0.1 in 64                                        t0.acc[0:64, 0:64] +=
//         for i1.1 in 64                                          p0.pack[0:64, r0.1*16 +: 16] * p1.pack[r0.1*16 +: 16, 0:64]
//           for r0.2 in 16                                  wait
//             t0.acc[…] += …
std::optional<Illegal> apply_step(StateData& data, const Tensorize& step);

// --- matrices.
// A sum of products over any axes becomes a product of two matrices, gathered element by element: `rows` lie one after another in
// the rows of a, all terms in its columns; the other axes of the sum in the columns of b, but for those that both factors have,
// which count products. `turned` stores b[n, k].
//
//   matrices t1 i1 r0,r1,r2 straight 0
//   t1[n, o, h, w] = Σ c, i, j  t0[n, c, h + i, w + j] * p1[o, c, i, j]
//     →
//   t1.a[m, k]     = p1[m, k // 9, k // 3 % 3, k % 3]
//   t1.b[k, n]     = t0[n // (H*W), k // 9, n // W % H + k // 3 % 3, n % W + k % 3]
//   t1.mm[m, n]    = Σ k  t1.a[m, k] * t1.b[k, n]
//   t1[n, o, h, w] = t1.mm[o, (n*H + h)*W + w]
//
// With a part, the product is one of each so many terms, and t1 their sum; what is beyond the last term is zeros:
//
//   matrices t0 i0 r0 straight 64        →    t0.a[p, m, k] = p0[m, p*64 + k]
//   t0[i, j] = Σ r  p0[i, r] * p1[r, j]       t0.b[p, k, n] = p1[p*64 + k, n]
//                                             t0.mm[p, m, n] = Σ k  t0.a[p, m, k] * t0.b[p, k, n]
//                                             t0[i, j] = Σ p  t0.mm[p, i, j]
//
// The step is a licence to add up in another order. Legal for a sum of products of two elements, cast or not, at root and not split, where
// the rows are axes of one factor alone, the columns of the other, all reduce axes are named, and extents of axes
// that become one are numbers (but the outermost's).
std::optional<Illegal> apply_step(StateData& data, const Matrices& step);

// --- rescale.
// The softmax of rows that weights values is computed of one block of keys at a time, so that the scores of a block are all that
// there is of them at once. Of a block: the greatest score, the sum of the exponentials and the weighted values, which
// RESULT.part holds in two more columns and its own; MAXIMUM, SUM and RESULT combine the blocks' (after Milakov, Gimelshein, "Online
// normalizer calculation for softmax", 2018, and Dao et al., "Flash-Decoding", 2023).
//
//   rescale t1 t2 t3 64
//   t1[i]    = max(j) s[i, j]                                       t3.max[b, i]       = max(k) max(s[i, b*64 + k], lowest)
//   t2[i]    = sum(j) exp(s[i, j] - t1[i])                     →    t3.exp[b, i, k]    = exp(s[i, b*64 + k] - t3.max[b, i])
//   t3[i, c] = sum(j) exp(s[i, j] - t1[i]) / t2[i] * v[j, c]        t3.sum[b, i]       = sum(k) t3.exp[b, i, k]
//                                                                   t3.values[b, i, c] = sum(k) t3.exp[b, i, k] * v[b*64 + k, c]
//                                                                   t3.part[b, i, c]   = t3.values, t3.sum at c = C, t3.max at C + 1
//                                                                   t1[i]    = max(b) t3.part[b, i, C+1]
//                                                                   t2[i]    = sum(b) t3.part[b, i, C] * exp(t3.part[b, i, C+1] - t1[i])
//                                                                   t3[i, c] = sum(b) t3.part[b, i, c]
//                                                                                * exp(t3.part[b, i, C+1] - t1[i]) / t2[i]
//
// If RESULT is SUM itself, no values are weighted: a part holds a sum and a greatest score. Stages that read SUM must divide by it.
//
// Keys beyond the last have exponential 0. A block of scores of -inf counts nothing, as by the definition; a row of them is NaN.
// The step is a licence to add up in another order. Legal for stages at root, not split, that are such in f32 or f64 after what is
// element-wise between them was inlined, where MAXIMUM and SUM have an element for each row, of axes of RESULT without its last.
std::optional<Illegal> apply_step(StateData& data, const Rescale& step);

// --- winograd.
// The stage, a convolution of stride 1 by r x r weights, is computed tile by tile of m x m outputs, a
// = m + r - 1, with (a/m)² products where the definition takes r²:
//
//   winograd t1 4
//   t1[n, k, h, w] = Σ c, i, j  t0[n, c, h + i, w + j] * p1[k, c, i, j]
//     →
//   p1               is stored as G p1 G^T, of extents [K, C, a, a]: see AxisMap
//   t1.bd[n, c, y, u, w]       = (B^T d) of tile row y: rows transformed, columns not yet; 0 beyond t0
//   t1.v[u, v, n, c, y, x]     = (B^T d B) of tile (y, x)
//   t1.m[u, v, n, k, y, x]     = Σ c  t1.v[u, v, n, c, y, x] * p1[k, c, u, v]
//   t1.am[n, k, h, x, v]       = (A^T M) of tile x
//   t1[n, k, h, w]             = (A^T M A)
//
// The transforms are chains of selects on an index of a tile, which unrolling resolves. Legal as the first
// step on a stage that is a convolution in f32 (also grouped) of a constant that nothing else reads, for r =
// 3 with m = 2, 4, 6 and for r = 5 with m = 2, 4. Sums are of other terms than the definition's: it costs
// accuracy (numerics.h).
std::optional<Illegal> apply_step(StateData& data, const Winograd& step);

}  // namespace tf::schedule
