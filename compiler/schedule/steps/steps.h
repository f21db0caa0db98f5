#pragma once
// Owns: the legality and the effect of each step, with an example before → after. Does not know: how steps are
// written (text.cpp), or who chooses them.
//
// apply_step changes the state, or says why the step is illegal.

#include <optional>

#include "compiler/schedule/schedule.h"

namespace tf::schedule {

// --- split.
// Replaces the loop by 1 + factors.size() loops. The inner loops have the factors as extents. The extent of
// the outermost loop is the quotient, rounded up.
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
// Legal if the loop exists, every factor is at least 1, and no other stage is computed in that loop or in a
// loop inside it. A shifted tail requires an element-wise stage and an extent of at least the product of the
// factors.
//
// The limit of each factor and of their product. No loop is that long, and a product of two such numbers fits
// int64_t.
inline constexpr int64_t kMaxSplitFactor = int64_t{1} << 30;
// The steps that split an axis into stored parts (rescale, matrices, rfactor) accept parts of up to this size, and
// up to the extent of the axis if that is larger: the threads of a block may share a part of a shorter axis.
inline constexpr int64_t kMaxPaddedPart = 1024;
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
// Puts the stage's loops in the given order.
//
//   reorder t0 r0,i1,i0
//   for i0 in 4             →  for r0 in 8
//     for i1 in 3                for i1 in 3
//       for r0 in 8                for i0 in 4
//         t0[i0, i1] += …            t0[i0, i1] += …
//
// Legal if every loop of the stage is named once and a vectorized loop stays innermost. If other stages are
// computed in loops of this stage, the loops from the outermost to the innermost of these must keep their
// positions.
std::optional<Illegal> apply_step(StateData& data, const Reorder& step);

// --- annotate.
// Sets how the loop runs.
//
//   annotate t0 i1 vectorize
//   for i0 in 4             →  for i0 in 4
//     for i1 in 16               t0[i0, 0:16] = …   (one vector operation)
//       t0[i0, i1] = …
//
//   annotate t0 r0 vectorize: the lanes are folded, which permits reassociation
//   for i0 in 4             →  for i0 in 4
//     t0[i0] = 0                 t0[i0] = 0
//     for r0 in 16               t0[i0] = t0[i0] + reduce_add(a[i0, 0:16])
//       t0[i0] = t0[i0] + a[i0, r0]
//
// Legal:
// - parallel: a spatial loop of a stage at root, one per nest;
// - vectorize: the innermost loop, not of a product, of extent at most kMaxVectorLanes, with no stage
//   computed in it;
// - unroll: an extent of at most kMaxUnrollExtent;
// - grid loops: spatial loops of a stage at root;
// - thread loops: spatial loops with no stage computed in them.
//
// Inside another stage, a thread loop runs over the enclosing threads. There must be enough of them, and the
// stage is then in scope shared. If no loop of the stage runs over an axis of threads, the first thread of
// that axis computes it.
//
// Inside another stage, thread_x may also be the last loop of a stage, its reduction: one term per lane.
// Shuffles combine the terms, and all lanes get the result. The extent must be the number of threads of the
// enclosing loop, at most the 32 of a warp. Warps must be complete, and all their threads must take part.
//
//   annotate t0 r0 thread_x
//   for x in 32 thread_x                       for x in 32 thread_x
//     t0.rf[x] = …                      →        t0.rf = …
//     barrier; t0 = t0.rf[0] + …                 t0 = t0.rf; fold sum t0 lanes 32
inline constexpr int64_t kMaxVectorLanes = 64;
inline constexpr int64_t kMaxUnrollExtent = 256;
std::optional<Illegal> apply_step(StateData& data, const Annotate& step);

// --- pragma.
// unroll_limit N unrolls the stage's innermost serial loops while this makes at most N copies of the body.
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
// Computes the stage inside the consumer's loop: only the region that one iteration needs, into a buffer of
// that region's size. The stage's loops then run over the region.
//
//   compute_at t0 t1 i0 register
//   for i0 in 8                   →  for i0 in 8
//     for i1 in 4                      allocate t0[4] register
//       t0[i0, i1] = …                 for i1 in 4
//   for i0 in 8                          t0[i1] = …
//     for i1 in 4                      for i1 in 4
//       t1[i0, i1] = t0[i0, i1]          t1[i0, i1] = t0[i1]
//
// A register region inside of threads may have gaps, where the elements that a thread needs are not neighbours:
// the loops skip the gaps if one load reads the region. The buffer has elements for them.
//
// Legal if the stage is at root and not an output; is not split, fused or reordered; holds no other stage;
// and has no parallel, grid or thread loops. Each of its readers must be the consumer, or be computed inside
// that loop. A register region has at most kMaxRegisterBytes, a shared one at most kMaxSharedBytes.
//
// A region of scope fragment is held by the 32 lanes of a warp (or the 128 of four warps) together, for
// matrix instructions (tensorize). The loop must be a thread_x loop of extent 32 (128), or be inside one. The
// region covers what all lanes need, for one iteration of the thread_y and thread_z loops.
//
// A shared region belongs to one thread block. It covers what all threads around the loop need. Lowering puts
// barriers around its computation. `annotate STAGE LOOP thread_x` distributes it over the threads of the
// block.
inline constexpr int64_t kMaxRegisterBytes = 16 << 10;
inline constexpr int64_t kMaxFragmentBytes = 1 << 10;  // of one lane: all registers that a thread can have
inline constexpr int64_t kMaxSharedBytes = 227 << 10;  // the maximum of all GPUs
std::optional<Illegal> apply_step(StateData& data, const ComputeAt& step);

// --- root.
// Undoes compute_at: the whole stage is computed before its readers.
//
//   root t0
//   for i0 in 8                       →  for i0 in 8
//     allocate t0[4]                       for i1 in 4
//     for i1 in 4                            t0[i0, i1] = …
//       t0[i1] = …                       for i0 in 8
//     for i1 in 4                          for i1 in 4
//       t1[i0, i1] = t0[i1]                  t1[i0, i1] = t0[i0, i1]
//
// Legal if the stage is placed by compute_at and was not reshaped since, no stage is computed inside it, and
// it reads no stage that is placed by compute_at.
std::optional<Illegal> apply_step(StateData& data, const Root& step);

// --- inline.
// Substitutes an element-wise stage into the body of each reader. The stage is not stored.
//
//   inline t0
//   t0[i] = a[i] * 2       →   t1[i] = a[i] * 2 + 1
//   t1[i] = t0[i] + 1
//
// Legal if the stage has no reduction, is not an output, is at root with no stage computed inside it, and has
// a reader.
std::optional<Illegal> apply_step(StateData& data, const Inline& step);

// --- cache_read.
// Adds a stage SOURCE.pack that copies the source into storage with `layout`; `reader` reads the copy. If
// compute_at places the copy inside the reader's loops, it packs one tile at a time.
//
//   cache_read p1 t0 1,0 global
//   t0[i, j] = sum(r) a[i, r] * b[r, j]    →   p1.pack[r, j] = b[r, j]      (stored with r innermost)
//                                              t0[i, j] = sum(r) a[i, r] * p1.pack[r, j]
//
// Legal if the source is an input or a stage at root that the reader reads, and the reader holds no stage
// that would no longer be read there.
std::optional<Illegal> apply_step(StateData& data, const CacheRead& step);

// --- recompute.
// Makes the reader read a copy of the stage, STAGE.again. The stage is then computed twice, and each copy can
// be placed where its readers need it.
//
//   recompute t0 t2
//   t0[i] = a[i] * 2        →   t0[i] = a[i] * 2; t0.again[i] = a[i] * 2
//   t1 = sum(i) t0[i]           t1 = sum(i) t0[i]
//   t2[i] = t0[i] / t1          t2[i] = t0.again[i] / t1
//
// Legal for a stage at root that is not split, fused or reordered, holds no other stage, reads no stage that
// is placed by compute_at, and has other readers than this one.
std::optional<Illegal> apply_step(StateData& data, const Recompute& step);

// --- cache_write.
// Moves the computation into a new stage, NAME.acc, which can be placed and tiled separately. The original
// stage becomes its element-wise reader.
//
//   cache_write t0
//   t0[i, j] = sum(r) a[i, r] * b[r, j]    →   t0.acc[i, j] = sum(r) a[i, r] * b[r, j]
//                                              t0[i, j] = t0.acc[i, j]
//
// Legal if the stage is not inlined, split, fused or reordered, holds no other stage, and reads no stage that
// is placed by compute_at.
std::optional<Illegal> apply_step(StateData& data, const CacheWrite& step);

// --- layout_rewrite.
// Stores the buffer of a constant input, or of a stage's own result, in the given order. Constants are packed
// when a model is built, outside the measured time.
//
//   layout_rewrite p1 0,1,2,3,1:16,0:16
//   p1: f32[64, 64, 3, 3]   →   p1: f32[64, 64, 3, 3] stored as [4, 4, 3, 3, 16, 16]
//
// Legal for constant inputs, and for stages that are not outputs, with a layout of the buffer's rank. If the
// stage is computed inside another one, the layout applies to its region. Only stages can have a swizzle
// ("1,0,1:64^3:3:3"); it takes effect if the stage is in shared memory.
inline constexpr int64_t kMaxLayoutBlock = 4096;

// True if the layout is row-major, or if every axis occurs exactly once without a block and literal blocks
// are at least 1.
bool is_layout_of(const OpenLayout& layout, int rank);
// Empty if it is such a layout. For open blocks, 1 … kMaxLayoutBlock becomes a condition of the state.
std::optional<Illegal> check_layout(StateData& data, const OpenLayout& layout, int rank);
std::optional<Illegal> apply_step(StateData& data, const LayoutRewrite& step);

// --- storage_align.
// Pads rows: the pitch of `axis`, the last axis but one, becomes a multiple of `factor` elements, plus
// `offset`.
//
//   storage_align t0 0 16 1
//   t0: f32[8, 10], pitch of axis 0: 10   →   pitch 17
//
// Legal for row-major buffers of rank 2 or more of stages that are not outputs.
inline constexpr int64_t kMaxPadElements = 4096;
std::optional<Illegal> apply_step(StateData& data, const StorageAlign& step);

// --- narrow.
// Stores the f32 values of a constant input, or of an element-wise stage's own result, as bf16 or f16,
// rounded to nearest. Readers widen the values that they load, so sums and results remain f32. Constants are
// converted when a model is built, before they are packed.
//
//   narrow p1 bf16
//   t0[i, j] = sum(r) p0[i, r] * p1[r, j]    →    t0[i, j] = sum(r) p0[i, r] * f32(p1[r, j])
//
// Legal for f32 constants, and for f32 stages at root that are element-wise and not outputs. Illegal after
// `winograd`, whose transforms multiply the error of the values between them. This step reduces accuracy
// (numerics.h).
std::optional<Illegal> apply_step(StateData& data, const Narrow& step);

// --- pipeline.
// Prefetches the tiles that the loop's iterations copy into shared memory: each copy starts STAGES - 1
// iterations before the tile is read, in a ring of STAGES tiles. Copies of single elements and of vectors are
// asynchronous if the device supports that. Otherwise, and for stages that compute something, the threads
// make the copies at the same place.
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
// One barrier per iteration is enough: the tile that is overwritten was read before it, one iteration
// earlier.
//
// Legal for a serial loop that computes element-wise stages in shared memory which read no placed stage, with
// 1 (no pipeline) to kMaxPipelineStages stages. The rings together take at most kMaxSharedBytes. The loop
// stays serial. Stages that are computed in the loop later join the pipeline.
//
// With `bulk 1`, the device's copy engine (CUDA's TMA, sm_90 and later) makes the copies that it supports.
// One thread starts it, and it copies a tile in one piece. The tiles must be prefetched, and matrix
// instructions must read them directly from shared memory (wgmma):
//
//   pipeline t0 r0.0 3 bulk 1
//
// Legal for at least 2 stages if the engine supports at least one of the copies: of an unchanged row-major input
// with constant extents, whose rows start at multiples of 16 bytes, in lines of 128 bytes along its last axis,
// with the swizzle of such lines ("1,0,1:64^3:3:3" for f16).
inline constexpr int64_t kMaxPipelineStages = 8;
std::optional<Illegal> apply_step(StateData& data, const Pipeline& step);

// --- raster.
// Changes the order of the blocks of a two-dimensional grid: GROUP rows (of grid_y) at a time, down each
// column of such a group. Blocks that run at the same time then read fewer different tiles, so these stay in
// the shared cache.
//
//   raster t0 2   (grid_x 3, grid_y 4)
//   0  1  2             0  2  4
//   3  4  5      →      1  3  5
//   6  7  8             6  8 10
//   9 10 11             7  9 11
//
// Legal for a stage with a grid_x loop and a grid_y loop, with no stage computed between the two. GROUP is 1
// (the order does not change) to kMaxRasterGroup.
inline constexpr int64_t kMaxRasterGroup = 64;
std::optional<Illegal> apply_step(StateData& data, const Raster& step);

// --- cross_thread.
// Adds a thread loop x, y or z inside the stage's spatial loops (but not inside vector lanes). Its first
// thread computes the stage. All its threads compute the stages that are placed in the new loop. With
// rfactor, these are the partial results of a reduction, of which each thread computes some, and the stages
// that combine them.
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
// A second rfactor, of t0, makes a tree: a few threads each combine some of the partial results.
//
// Legal for a stage at root that holds no other stage and has no thread loop of that axis, with 1 to
// kMaxBlockThreads threads. The new loop cannot be vectorized.
inline constexpr int64_t kMaxBlockThreads = 1024;  // the maximum of all GPUs
std::optional<Illegal> apply_step(StateData& data, const CrossThread& step);

// --- rfactor.
// Moves partial results over one reduce loop into a new stage, NAME.rf, with that loop as its first axis. The
// original stage then only combines the partial results.
//
//   split t0 r0 16; rfactor t0 r0.0 (extent of r0: 64)
//   t0[i] = sum(r0) a[i, r0]     →   t0.rf[k, i] = sum(r) a[i, k*16 + r]     k in 4, r in 16
//                                    t0[i] = sum(r0) t0.rf[r0, i]
//
// Another order of additions changes the rounding: this step permits reassociation.
//
// Legal for a reduce loop of a stage whose spatial loops are unchanged, that holds no stage and reads no
// stage that is placed by compute_at.
std::optional<Illegal> apply_step(StateData& data, const RFactor& step);

// --- offset.
// Shifts one operand of a sum of products of bytes by half of its range, which changes its signedness: x86
// multiplies unsigned by signed bytes. This adds `value` times the sum of the other operand's elements to
// each sum, and readers subtract it. If the other operand is a constant, these sums are a new constant, the
// next input, which is computed outside the measured time (StateData::sums). Otherwise they are a new stage
// before STAGE, STAGE.sums.
//
//   offset t0 p0 128
//   t0[i, j] = sum(r) i32(p0[i, r]) * i32(p1[r, j])    →    p2[0, j] = sum(r) i32(p1[r, j])
//                                                           t0[i, j] = sum(r) (i32(p0[i, r]) + 128)
//                                                                              * i32(p1[r, j])
//   t1[i, j] = t0[i, j]                                     t1[i, j] = t0[i, j] - 128 * p2[0, j]
//
// If an element-wise stage computes the operand only for this sum (a padded image), the operand is stored
// shifted. Then the sum does not have to shift what it reads.
//
//   offset t1 t0 128
//   t0[i, r] = p0[i, r]                                →    t0[i, r] = u8(p0[i, r]) + 128, of u8
//   t1[i, j] = sum(r) i32(t0[i, r]) * i32(p1[r, j])         t1[i, j] = sum(r) i32(t0[i, r]) * i32(p1[r, j])
//
// The step is exact, because i32 wraps. Legal for a stage that is not an output and sums such products in
// i32, of loads without predicates, over whole axes of the other operand. The value is 128 for i8 and -128
// for u8.
std::optional<Illegal> apply_step(StateData& data, const Offset& step);

// --- tensorize.
// Replaces the three innermost loops, from LOOP on, by one matrix instruction, which the lanes of a warp
// execute together.
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
// Legal for a sum of products that compute_at placed in scope fragment, inside a loop over the 32 lanes of a
// warp (thread_x). Its operands must be copies made by cache_read: in scope fragment, computed inside the
// stage, of copies in shared memory. The loops run over rows, columns and terms, with the extents of the
// instruction. Regions are whole tiles. Terms beyond the reduction are zeros in the shared copies. Each lane
// of a reader of the sums may access only the elements that the instruction's lane map gives it; lowering
// rejects other readers. The loops of these stages cannot be changed afterwards.
//
// An instruction that reads shared memory (wgmma) takes its operands from the shared copies. These consist of
// lines of 128 bytes (or 64, or 32), one after another. A line holds neighbours along one axis, and the lines
// follow each other along the other axis. They have the swizzle of such lines: "1,0,1:64^3:3:3" for f16.
// Lines run along the terms; those of 16-bit elements may also run along rows or columns. The lanes are the
// 128 of four warps. The instruction runs asynchronously: lowering fences it, publishes what was copied, and
// waits for it.
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
// Turns a sum of products over any axes into a product of two matrices, which are gathered element by
// element. The axes in `rows`, joined, are the rows of a; all terms are its columns. The other axes of the
// sum are the columns of b, except for axes that both operands have: these count separate products. `turned`
// stores b[n, k].
//
//   matrices t1 i1 r0,r1,r2 straight 0
//   t1[n, o, h, w] = Σ c, i, j  t0[n, c, h + i, w + j] * p1[o, c, i, j]
//     →
//   t1.a[m, k]     = p1[m, k // 9, k // 3 % 3, k % 3]
//   t1.b[k, n]     = t0[n // (H*W), k // 9, n // W % H + k // 3 % 3, n % W + k % 3]
//   t1.mm[m, n]    = Σ k  t1.a[m, k] * t1.b[k, n]
//   t1[n, o, h, w] = t1.mm[o, (n*H + h)*W + w]
//
// With a part (split-K), there is one product for each PART terms, and the stage is their sum. Terms beyond
// the last are 0:
//
//   matrices t0 i0 r0 straight 64        →    t0.a[p, m, k] = p0[m, p*64 + k]
//   t0[i, j] = Σ r  p0[i, r] * p1[r, j]       t0.b[p, k, n] = p1[p*64 + k, n]
//                                             t0.mm[p, m, n] = Σ k  t0.a[p, m, k] * t0.b[p, k, n]
//                                             t0[i, j] = Σ p  t0.mm[p, i, j]
//
// This step permits reassociation.
//
// Legal for a sum of products of two elements, cast or not, at root and not split. The rows must be axes of
// one operand only, and the columns axes of the other only. All reduce axes must be named. The extents of
// axes that are joined must be numbers, except for the outermost one.
std::optional<Illegal> apply_step(StateData& data, const Matrices& step);

// --- rescale.
// Computes the softmax of rows, and the values that it weights, one block of keys at a time, so only the
// scores of one block exist at once. For each block, RESULT.part holds the weighted values, and in two more
// columns the sum of the exponentials and the maximum score. MAXIMUM, SUM and RESULT combine the blocks
// (after Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018, and Dao et al.,
// "Flash-Decoding", 2023).
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
// If RESULT is SUM itself, no values are weighted, and a part holds a sum and a maximum score. Stages that
// read SUM must divide by it.
//
// Keys beyond the last have the exponential 0. A block of scores of -inf contributes nothing, as in the
// definition; a row of them is NaN. This step permits reassociation.
//
// Legal for stages at root that are not split and have this form in f32 or f64, after the element-wise stages
// between them were inlined. MAXIMUM and SUM must have one element for each row; the rows are the axes of
// RESULT without its last.
std::optional<Illegal> apply_step(StateData& data, const Rescale& step);

// --- winograd.
// Computes the stage, a convolution of stride 1 with r x r weights, in tiles of m x m outputs. With a = m + r
// - 1, this takes (a/m)² products per output, where the definition takes r²:
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
// The transforms are chains of selects on an index of a tile, which unrolling resolves. The sums have other
// terms than those of the definition, so this step reduces accuracy (numerics.h).
//
// Legal as the first step on a stage that is an f32 convolution (also grouped) with a constant that nothing
// else reads, for r = 3 with m = 2, 4, 6 and for r = 5 with m = 2, 4.
std::optional<Illegal> apply_step(StateData& data, const Winograd& step);

}  // namespace tf::schedule
