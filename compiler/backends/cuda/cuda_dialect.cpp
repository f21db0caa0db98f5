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

std::string kernel_head(const std::array<int64_t, 3>& block) {
  return absl::StrCat("extern \"C\" __global__ void __launch_bounds__(", block[0] * block[1] * block[2],
                      ") ");
}

// Its size is given at the launch: a fixed one may not be larger than 48 KiB.
std::string shared_array(int64_t) {
  return "extern __shared__ __align__(16) unsigned char shared_memory[];";
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
      .functions_are_overloaded = false,
      .prelude = kPrelude,
      .half_functions = kHalfFunctions,
      .doubles = "",
      .kernel_head = kernel_head,
      .shared_array = shared_array,
      .aligned = aligned,
  };
  return kDialect;
}

}  // namespace tf::backends
