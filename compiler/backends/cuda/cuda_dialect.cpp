#include "compiler/backends/cuda/cuda_dialect.h"

#include "absl/strings/str_cat.h"

namespace tf::backends {
namespace {

// A host's compiler brings its own, which tests use.
constexpr char kPrelude[] = R"(#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
)";

constexpr char kHalfFunctions[] = R"(#ifndef TF_HAS_HALF
__device__ inline float tf_load_f16(unsigned short x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
__device__ inline unsigned short tf_store_f16(float x) {
  unsigned short y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
#endif
)";

// Of 16 bytes past the first-level cache, which others would not use.
constexpr char kAsyncCopies[] = R"(#ifndef TF_HAS_ASYNC_COPIES
#define TF_COPY_ASYNC(bytes, cache) \
  __device__ inline void tf_copy_async_##bytes(void* to, const void* from, bool holds) { \
    asm volatile("cp.async." #cache ".shared.global [%0], [%1], " #bytes ", %2;" \
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(holds ? bytes : 0) : "memory"); \
  }
TF_COPY_ASYNC(4, ca)
TF_COPY_ASYNC(8, ca)
TF_COPY_ASYNC(16, cg)
__device__ inline void tf_end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
#define tf_wait_copies(groups) asm volatile("cp.async.wait_group %0;" :: "n"(groups) : "memory")
#endif
)";

std::string kernel_head(const std::array<int64_t, 3>& block) {
  return absl::StrCat("extern \"C\" __global__ void __launch_bounds__(", block[0] * block[1] * block[2],
                      ") ");
}

// Its size is given at the launch: a fixed one may not be larger than 48 KiB.
std::string shared_array(int64_t, int64_t alignment) {
  return absl::StrCat("extern __shared__ __align__(", alignment, ") unsigned char shared_memory[];");
}

std::string aligned(int64_t bytes) {
  return absl::StrCat("__align__(", bytes, ")");
}

}  // namespace

const GpuDialect& cuda_dialect() {
  static constexpr GpuDialect kDialect = {
      .name = "CUDA C",
      .function = "__device__ inline",
      .global = "",
      .shared = "",
      .restrict_pointer = "* __restrict__",
      .barrier = "__syncthreads();",
      .block_index = {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
      .thread_index = {"threadIdx.x", "threadIdx.y", "threadIdx.z"},
      .long_type = "long long",
      .unsigned_long_type = "unsigned long long",
      .long_suffix = "ll",
      .float_of_bits = "__uint_as_float",
      .bits_of_float = "__float_as_uint",
      .has_matrix_instructions = true,
      .has_shuffles = true,
      .functions_are_overloaded = false,
      .prelude = kPrelude,
      .half_functions = kHalfFunctions,
      .async_copies = kAsyncCopies,
      .doubles = "",
      .kernel_head = kernel_head,
      .shared_array = shared_array,
      .aligned = aligned,
  };
  return kDialect;
}

}  // namespace tf::backends
