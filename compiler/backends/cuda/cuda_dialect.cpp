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

// A barrier for each group in flight: the first thread starts the copies and says at the end of the group how many bytes arrive
// by them; all threads wait. Bytes may arrive before that: the group ends with the one arrival that its barrier counts.
constexpr char kBulkCopies[] = R"(#ifndef TF_HAS_BULK_COPIES
struct __align__(64) tf_tensor_map {
  unsigned long long words[16];
};
template <unsigned kBarriers>
struct tf_bulk_copies {
  const unsigned barriers;
  const bool is_first;
  unsigned group = 0, waited = 0, bytes = 0;
  __device__ explicit tf_bulk_copies(void* memory)
      : barriers((unsigned)__cvta_generic_to_shared(memory)),
        is_first(threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    if (is_first) {
      for (unsigned i = 0; i < kBarriers; ++i)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier(i)) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
  }
  __device__ unsigned barrier(unsigned number) const { return barriers + number % kBarriers * 8; }
#define TF_COPY_BULK(dims, numbers)   asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {"                numbers "}], [%2];" :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(&map), "r"(barrier(group)),                TF_PLACES : "memory");   bytes += size
#define TF_PLACES "r"(x)
  __device__ void copy(void* to, const tf_tensor_map& map, unsigned size, int x) {
    if (is_first) { TF_COPY_BULK("1d", "%3"); }
  }
#undef TF_PLACES
#define TF_PLACES "r"(x), "r"(y)
  __device__ void copy(void* to, const tf_tensor_map& map, unsigned size, int x, int y) {
    if (is_first) { TF_COPY_BULK("2d", "%3, %4"); }
  }
#undef TF_PLACES
#define TF_PLACES "r"(x), "r"(y), "r"(z)
  __device__ void copy(void* to, const tf_tensor_map& map, unsigned size, int x, int y, int z) {
    if (is_first) { TF_COPY_BULK("3d", "%3, %4, %5"); }
  }
#undef TF_PLACES
#define TF_PLACES "r"(x), "r"(y), "r"(z), "r"(u)
  __device__ void copy(void* to, const tf_tensor_map& map, unsigned size, int x, int y, int z, int u) {
    if (is_first) { TF_COPY_BULK("4d", "%3, %4, %5, %6"); }
  }
#undef TF_PLACES
#define TF_PLACES "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)
  __device__ void copy(void* to, const tf_tensor_map& map, unsigned size, int x, int y, int z, int u, int v) {
    if (is_first) { TF_COPY_BULK("5d", "%3, %4, %5, %6, %7"); }
  }
#undef TF_PLACES
#undef TF_COPY_BULK
  __device__ void wait(unsigned groups_in_flight) {
    if (is_first)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(barrier(group)), "r"(bytes) : "memory");
    bytes = 0;
    for (; waited + groups_in_flight <= group; ++waited)
      for (unsigned done = 0; done == 0;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(barrier(waited)), "r"(waited / kBarriers & 1) : "memory");
    ++group;
  }
};
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
      .bulk_copies = kBulkCopies,
      .doubles = "",
      .kernel_head = kernel_head,
      .shared_array = shared_array,
      .aligned = aligned,
  };
  return kDialect;
}

}  // namespace tf::backends
