#pragma once
// Owns: in what CUDA C and OpenCL C differ, as texts. Does not know: kernels, expressions.

#include <array>
#include <cstdint>
#include <string>

#include "compiler/tensor/type.h"

namespace tf::backends {

struct GpuDialect {
  const char* name;              // "CUDA C", for people
  const char* function;          // before a helper function
  const char* global;            // before a type in global memory
  const char* shared;            // likewise, in shared memory
  const char* restrict_pointer;  // a pointer through which alone its memory is reached
  const char* barrier;           // of a block, for all memory
  std::array<const char*, 3> block_index, thread_index;  // x, y, z
  const char* long_type;                                 // of 64 bits, as the next
  const char* unsigned_long_type;                        // of 64 bits
  const char* long_suffix;    // of a literal of that type; an unsigned one has a u before it
  const char* float_of_bits;  // functions, this and the next: the same 32 bits as the other type
  const char* bits_of_float;
  bool has_matrix_instructions = false;  // as inline PTX
  // What is loaded from shared memory under a condition is loaded in any case: PoCL ends the process over branches that depend on
  // the thread, in loops with barriers.
  bool avoids_branches = false;
  bool has_shuffles = false;              // __shfl_xor_sync
  bool functions_are_overloaded = false;  // or those of float have an f behind the name
  const char* prelude;                    // first in the source
  // Of the 16 bits of an f16 the float, and of a float the bits of the nearest f16; where a kernel has f16.
  const char* half_functions;
  // tf_copy_async_4, _8 and _16 (shared, global, whether to copy or to set to zero), tf_end_copies, which ends a group of them, and
  // tf_wait_copies(n); where a kernel copies asynchronously. Null: the dialect has no asynchronous copies.
  const char* async_copies = nullptr;
  // tf_tensor_map, a parameter, and tf_bulk_copies<n>, which copies boxes of such tensors (copy) in groups (wait) with n barriers in
  // the shared memory that it is given; where a kernel copies boxes. Null: the dialect has no such copies.
  const char* bulk_copies = nullptr;
  // The source asks for doubles by this; empty: it need not.
  const char* doubles;
  // What stands before the name of a kernel that runs with such blocks.
  std::string (*kernel_head)(const std::array<int64_t, 3>& block);
  // The declaration of an array of so many bytes of shared memory, `shared_memory`, first in a kernel; where it starts.
  std::string (*shared_array)(int64_t bytes, int64_t alignment);
  // The attribute that aligns a type to so many bytes.
  std::string (*aligned)(int64_t bytes);
};

// Types of values in registers. f16 and bf16 are floats there, rounded after each operation.
const char* value_type(const GpuDialect& dialect, tensor::Element element);
// Types in memory: bool is a byte; f16 and bf16 are their bits.
const char* memory_type(const GpuDialect& dialect, tensor::Element element);

}  // namespace tf::backends
