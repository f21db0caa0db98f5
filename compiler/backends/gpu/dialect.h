#pragma once
// Owns: the differences between CUDA C and OpenCL C, as texts. Does not know: kernels, expressions.

#include <array>
#include <cstdint>
#include <string>

#include "compiler/tensor/type.h"

namespace tf::backends {

struct GpuDialect {
  const char* name;                                      // "CUDA C", for people
  const char* function;                                  // before a helper function
  const char* global;                                    // before a type in global memory
  const char* shared;                                    // likewise, in shared memory
  const char* restrict_pointer;                          // a pointer that does not alias any other
  const char* barrier;                                   // of a block, for all memory
  std::array<const char*, 3> block_index, thread_index;  // x, y, z
  const char* long_type;                                 // 64 bits
  const char* unsigned_long_type;                        // 64 bits
  const char* long_suffix;    // of a literal of that type; an unsigned literal has a u before it
  const char* float_of_bits;  // this and the next: functions that reinterpret 32 bits as the other type
  const char* bits_of_float;
  bool has_matrix_instructions = false;  // as inline PTX
  // Conditional loads from shared memory are made unconditionally. PoCL aborts the process on
  // thread-dependent branches in loops with barriers.
  bool avoids_branches = false;
  bool has_shuffles = false;              // __shfl_xor_sync
  bool functions_are_overloaded = false;  // false: functions of float have the suffix f
  const char* prelude;                    // first in the source
  // Functions that convert the 16 bits of an f16 to float, and a float to the bits of the nearest f16. For
  // kernels with f16.
  const char* half_functions;
  // Defines tf_copy_async_4, _8 and _16 (shared, global, whether to copy or to set to zero), tf_end_copies,
  // which ends a group of copies, and tf_wait_copies(n). For kernels with asynchronous copies. Null: not
  // supported.
  const char* async_copies = nullptr;
  // Defines tf_tensor_map, a parameter type, and tf_bulk_copies<n>, which copies boxes of such tensors (copy)
  // in groups (wait), with n barriers in the shared memory that it is given. For kernels with box copies.
  // Null: not supported.
  const char* bulk_copies = nullptr;
  // Enables doubles in the source; empty: not needed.
  const char* doubles;
  // The text before the name of a kernel that runs with such blocks.
  std::string (*kernel_head)(const std::array<int64_t, 3>& block);
  // Declares the array `shared_memory` of that many bytes of shared memory, at the start of a kernel.
  std::string (*shared_array)(int64_t bytes, int64_t alignment);
  // The attribute that aligns a type to that many bytes.
  std::string (*aligned)(int64_t bytes);
};

// The type of values in registers. f16 and bf16 are floats there, rounded after each operation.
const char* value_type(const GpuDialect& dialect, tensor::Element element);
// The type in memory: bool is a byte; f16 and bf16 are their bits.
const char* memory_type(const GpuDialect& dialect, tensor::Element element);

}  // namespace tf::backends
