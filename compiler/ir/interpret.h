#pragma once
// Owns: the meaning of loop IR, executed: the oracle that every back end and every random schedule is checked
// against. Does not know: time, threads, targets.
//
// Exact semantics of compiler/tensor/expr.h, with no fused multiply-add but kFma and no flushed denormals.
// Intrinsics of f32 and smaller are computed in double and rounded once; reductions over lanes go in lane
// order. Parallel, grid and thread loops run one iteration after another; a thread loop in which threads meet (a
// barrier, shared memory, a statement of a whole warp) runs them side by side: statement by statement between
// barriers, warps of 32 in the order of thread_x, then y, then z. Allocations start with every bit
// set (a NaN in every float format), so that reading what was never written shows. Float to integer casts
// saturate, NaN gives 0.

#include <cstdint>
#include <map>
#include <span>

#include "absl/status/status.h"
#include "compiler/ir/stmt.h"

namespace tf::ir {

// A parameter's memory: physical storage in the buffer's layout (row-major without one), padding included.
struct Memory {
  void* data = nullptr;
  uint64_t size_bytes = 0;
};

// What is watched in functions with grid or thread loops or asynchronous copies; others run as fast as without.
struct InterpretOptions {
  // Whether these are errors: two threads of a block that touch an element of shared or global memory, one of them
  // writing, with no barrier in between; two blocks of one launch that do, in global memory; loading an element of an
  // allocation that nobody wrote (of a vector: none of whose elements anybody wrote, since vectors may reach over);
  // touching what an asynchronous copy has not brought yet, overwriting its source, ending its target's life.
  bool watch_threads = true;
  // Asynchronous copies arrive at the last moment that is legal, else when they begin: the results must be the same.
  bool copies_land_late = true;
  // Where each shared buffer lies in its block's memory, in bytes; null: apart from the others. Where buffers share bytes, what one of them
  // held is undefined once another one was written there, and all threads must meet at a barrier in between.
  const std::map<const BufferNode*, int64_t>* shared_offsets = nullptr;
};

// Runs the function once on the parameters' memory; `dims` are the values of function.dims in order. Every
// access is checked against the buffer's extents. Errors: INVALID_ARGUMENT if the call does not fit the
// function (count, sizes) or the function is not well-formed; OUT_OF_RANGE for the first access outside a
// buffer, with the index and the loop variables; FAILED_PRECONDITION for an index that is divided by zero,
// a barrier that not all threads reach, and what is watched. Thread-safe for distinct memory.
absl::Status interpret(const Function& function, std::span<const Memory> params,
                       std::span<const int64_t> dims = {}, const InterpretOptions& options = {});

}  // namespace tf::ir
