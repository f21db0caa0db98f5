#pragma once
// Owns: the passes over loop IR, in the order in which they run, each with an example before → after; the last one
// is of loops_hash alone. Does not know: which of them a target takes, and why in that order (pipeline.cpp).

#include <optional>

#include "compiler/ir/stmt.h"

namespace tf::passes {

// A load that is not provably inside of what its buffer's storage covers, for all iterations of the loops
// around it, gets a predicate: the conditions of the selects around it where those suffice, else a test of
// the indices. Enclosing `if`s do not count: the vectorizer turns them into masks of stores.
//
//   for i.0 in 3                            for i.0 in 3
//     for i.1 in 4                            for i.1 in 4
//       if i.0*4 + i.1 < 10                     if i.0*4 + i.1 < 10
//         b[i.0*4 + i.1] =             →          b[i.0*4 + i.1] =
//           a[i.0*4 + i.1]                          a[i.0*4 + i.1] if i.0*4 + i.1 < 10
//
// Inside of vectorized loops a branch around stores becomes their predicate, so that no later pass takes the
// branch as a reason to drop a load's.
//
//   select(0 <= i - 1, a[i - 1], 0)    →    (a[i - 1] if 0 <= i - 1)
//
// A temporary may be read up to kSlackElements beyond its end: flattening makes it that much larger.
inline constexpr int64_t kSlackElements = 256;
ir::Function guard_memory(const ir::Function& function);

// The same where branches stay branches around what they guard, as on GPUs: enclosing `if`s count, but for those that differ between
// lanes of a vectorized loop.
ir::Function guard_memory_under_branches(const ir::Function& function);

// Branches around vectorized loops instead of inside of them. Where a condition differs between lanes, those for which it holds in
// all of them are a vector; the last few elements are computed one by one.
//
//   for i.0 in 3 thread_x                   for i.0 in 3 thread_x
//     for i.1 in 4 vectorized                 if i.0*4 + 3 < 10
//       if i.0*4 + i.1 < 10        →            for i.1 in 4 vectorized
//         b[i.0*4 + i.1] = 1                      b[i.0*4 + i.1] = 1
//                                             else
//                                               for i.1 in 4 unrolled
//                                                 if i.0*4 + i.1 < 10
//                                                   b[i.0*4 + i.1] = 1
ir::Function part_lanes(const ir::Function& function);

// Where the conditions inside a serial or parallel loop (of branches, selects, predicates) are known to hold
// for a range of its iterations, that range becomes a loop of its own, in which they are gone; a parallel
// loop stays one and branches inside.
//
//   for i.0 in 3                            for i.0 in 2
//     for i.1 in 4                            for i.1 in 4
//       if i.0*4 + i.1 < 10        →            b[i.0*4 + i.1] = 1
//         b[i.0*4 + i.1] = 1                for i.1 in 2
//                                             b[8 + i.1] = 1
//
// Where the variable stands inside of a quotient, as after fuse, the loop branches in the same way on a
// condition of its own that suffices for those inside (i // 13 < 31 for (i // 13)*32 + j < 1000, j < 32).
//
// So it does where a named dimension stands in the condition. What ends inside of a tile of rows then gets a body for each
// number of rows, whose loops have numbers for bounds:
//
//   for i.0 in (n + 3) // 4                 for i.0 in (n + 3) // 4
//     for i.1 in 4                            if i.0*4 + 3 < n
//       if i.0*4 + i.1 < n                      for i.1 in 4
//         b[i.0*4 + i.1] = 1         →            b[i.0*4 + i.1] = 1
//                                             else if i.0*4 + 3 == n
//                                               for i.1 in 3
//                                                 b[i.0*4 + i.1] = 1
//                                             else …
//
// Only bodies of up to kMaxPeeledNodes nodes are copied. What was peeled off twice (the last columns of the
// last block of rows: their last row is still to come) is partitioned once more if it is much smaller, as a
// register tile is; code beyond that is left as it is.
inline constexpr int64_t kMaxPeeledNodes = 6000, kMaxPeeledTwiceNodes = 600;
ir::Function partition_loops(const ir::Function& function);

// What each lane of a warp holds of a fragment becomes registers of its own, tile by tile; indices of what readers of sums
// touch become those of its registers. check_fragments (memory/own_fragments.h) must have passed.
//
//   allocate c: f32[32, 8] fragment                     allocate c: f32[8] register
//   matrix zero mma_m16n8k16_f16 c[16, 0] …         →   matrix zero mma_m16n8k16_f16 c[4] …
//   out[…] = c[16 + e*8 + t // 4, t % 4 * 2 + f]        out[…] = c[4 + e*2 + f]
ir::Function own_fragments(const ir::Function& function);

// Every buffer becomes one-dimensional, as large as its layout's storage, temporaries as far as loads reach
// (up to kSlackElements beyond); parameters keep their order, shared buffers their swizzle, which is of the new offsets.
//
//   t0: f32[2, 64] layout "0,1,1:16"          t0: f32[128]
//   t0[n, c] = 0                         →    t0[n*64 + (c//16)*16 + c%16] = 0
ir::Function flatten(const ir::Function& function);

// A serial or unrolled loop over 2 or 4 terms around a vectorized loop, which sums products of narrow
// elements in a wide one, becomes one dot of vectors (tensor/expr.h, kDot), if the terms of a lane lie next
// to each other in memory, those of the lanes one after the other for one factor, and the other factor has
// the same terms in all lanes. Buffers must be flat. Schedules make such loops by splitting a reduction by
// the group and blocking a constant's layout by it. A factor of bytes may be moved to the other sign
// (schedule/steps/steps.h): it is then one of the dot's, computed in bytes.
//
//   for r in 4
//     for j in 16 vectorized
//       c[j] = c[j] + i32(a[k*4 + r])         →   c[ramp(0, 1, 16)] =
//                     * i32(b[k*64 + j*4 + r])        dot(c[ramp(0, 1, 16)], a[ramp(k*4, 1, 4)],
//                                                         b[ramp(k*64, 1, 64)])
ir::Function form_dots(const ir::Function& function);

// The loop variable becomes a ramp; conditions that differ between lanes become predicates of the stores.
// Loads need none: guard_memory made them safe. A folded loop, whose one store adds to (or takes the greater
// or lesser of) an element that does not move with the variable, folds its lanes. A loop that cannot be a
// vector (its extent is not constant, a store moves or does not as it should, it holds another loop) becomes
// serial.
//
//   for i in 16 vectorized                b[ramp(o*16, 1, 16)] =
//     if o*16 + i < n                →      broadcast(2, 16) * a[ramp(o*16, 1, 16)]
//       b[o*16 + i] = 2 * a[o*16 + i]       if ramp(o*16, 1, 16) < broadcast(n, 16)
//
//   for i in 16 folded
//     s[0] = s[0] + a[i]             →    s[0] = s[0] + reduce_add(a[ramp(0, 1, 16)])
ir::Function vectorize(const ir::Function& function);

// A loop marked unrolled with a constant extent becomes copies of its body, unless that would make more than
// kMaxUnrolledStatements of them; then it is serial.
//
//   for i in 2 unrolled         acc[0] = 0
//     acc[i] = 0            →   acc[1] = 0
inline constexpr int64_t kMaxUnrolledStatements = 4096;
ir::Function unroll(const ir::Function& function);

// Whether the pass makes copies of a loop with this extent (none: not constant) and body.
bool is_written_out(std::optional<int64_t> extent, const ir::Stmt& body);

// Where an edge tile is known to end inside of a vector, the lanes beyond are computed into registers and
// never stored. A vector store of which the last lanes are known not to run, or to write elements of a
// register buffer that nothing reads, keeps half of its lanes, or a quarter and so on, down to kLeastLanes;
// one without any such lane is gone. Buffers must be flat and vectors explicit.
//
//   acc[ramp(0, 1, 16)] = 0
//   acc[ramp(16, 1, 16)] = 0
//   for k in n
//     acc[ramp(0, 1, 16)] = acc[ramp(0, 1, 16)] + a[k] * b[ramp(k*16, 1, 16)]
//     acc[ramp(16, 1, 16)] = …
//   c[ramp(0, 1, 16)] = acc[ramp(0, 1, 16)] if ramp(0, 1, 16) < 5
// →
//   acc[ramp(0, 1, 8)] = 0
//   for k in n
//     acc[ramp(0, 1, 8)] = acc[ramp(0, 1, 8)] + a[k] * b[ramp(k*16, 1, 8)]
//   c[ramp(0, 1, 8)] = acc[ramp(0, 1, 8)] if ramp(0, 1, 8) < 5
inline constexpr int kLeastLanes = 4;
ir::Function narrow_vectors(const ir::Function& function);

// A vector load whose lanes are not neighbours, but stand in up to kMaxRuns runs of neighbours at constant
// distances from each other, becomes a masked load for each run: windows over channels that lie in blocks,
// channels shifted by padding or a slice. Buffers must be flat.
//
//   x[b*64 + (ramp(-2, 1, 8) // 8)*32 + ramp(-2, 1, 8) % 8]
//     →  select(ramp(0, 1, 8) < 2, (x[ramp(b*64 - 26, 1, 8)] if ramp(0, 1, 8) < 2),
//                                  (x[ramp(b*64 - 2, 1, 8)] if 2 <= ramp(0, 1, 8)))
inline constexpr int kMaxRuns = 3;
ir::Function split_loads(const ir::Function& function);

// Loads in the sides of a select run only where that side is chosen. Here they run before: always where they
// are known to be inside of their buffer, else under the select's condition as predicate. What is left are
// blends, the only selects that back ends for CPUs take. Buffers must be flat.
//
//   t0[i] = select(0 < acc[i], acc[i], acc[i]*0.1)    →    let v = acc[i]
//                                                          t0[i] = select(0 < v, v, v*0.1)
ir::Function hoist_loads(const ir::Function& function);

// exp, expm1, log, log1p, tanh, erf, sigmoid, sin, cos and pow become the expressions of
// math/functions.h, with a let for each value that is used more than once. f16 and bf16 are computed in
// f32. Loads must be safe by themselves.
//
//   t0[i] = exp(a[i] + 1)    →    let x = a[i] + 1
//                                 let n = round(min(max(x, -104), 89) * 1.442695) …
//                                 t0[i] = ldexp(…, n)
ir::Function expand_math(const ir::Function& function);

// Two unrolled loops, one directly in the other, become one where everything below reads them as one: the
// copies that the unroll pass makes are the same. A loop that is too long to be unrolled stays.
//
//   for o in 2 unrolled
//     for i in 3 unrolled          →   for u in 6 unrolled
//       acc[0] += a[o*3 + i]             acc[0] += a[u]
ir::Function merge_unrolled(const ir::Function& function);

}  // namespace tf::passes
