// Owns: enough of CUDA C for a C++ compiler: blocks run one after another, the threads of a block are fibers that take turns at
// barriers. Included before a kernel's text by the fake NVRTC. Does not know: drivers.
#pragma once
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <type_traits>
#include <utility>

#include "bulk_copies.h"

#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define TF_HAS_HALF
#define TF_HAS_ASYNC_COPIES

extern "C" {
void (*fake_cuda_fail_here)(int code);  // the fake driver puts its own here
}
inline void fake_cuda_fail(int code) {
  fake_cuda_fail_here(code);
}

struct FakeIndex {
  int x, y, z;
};
static FakeIndex threadIdx, blockIdx, blockDim, gridDim;
alignas(1024) static unsigned char shared_memory[228 << 10];

namespace fake {

constexpr int kMostThreads = 1024;
constexpr size_t kStackBytes = 128 << 10;

inline ucontext_t scheduler, fibers[kMostThreads];
inline bool is_done[kMostThreads];
inline int running, thread_count;
inline unsigned char* stacks;
inline void (*body)(void**);
inline void** params;

inline FakeIndex index_of(int thread) {
  return {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
}

inline void begin() {
  body(params);
  is_done[running] = true;
  swapcontext(&fibers[running], &scheduler);
}

inline void run_block_with_barriers() {
  if (stacks == nullptr)
    stacks = static_cast<unsigned char*>(mmap(nullptr, kMostThreads * kStackBytes, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  for (int t = 0; t < thread_count; ++t) {
    is_done[t] = false;
    getcontext(&fibers[t]);
    fibers[t].uc_stack.ss_sp = stacks + t * kStackBytes;
    fibers[t].uc_stack.ss_size = kStackBytes;
    fibers[t].uc_link = nullptr;
    makecontext(&fibers[t], begin, 0);
  }
  for (int left = thread_count; left > 0;) {
    for (int t = 0; t < thread_count; ++t) {
      if (is_done[t]) continue;
      running = t;
      threadIdx = index_of(t);
      swapcontext(&scheduler, &fibers[t]);
      if (is_done[t]) --left;
    }
  }
}

template <typename... P, size_t... I>
void call(void (*kernel)(P...), void** values, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_const_t<P>*>(values[I])...);
}

template <auto kKernel, typename... P>
void call_kernel(void (*)(P...), void** values) {
  call(kKernel, values, std::index_sequence_for<P...>());
}

template <typename... P>
constexpr int count_params(void (*)(P...)) {
  return sizeof...(P);
}
// Of parameter number `i`.
template <typename... P>
constexpr int param_bytes(void (*)(P...), int i) {
  constexpr int kBytes[] = {int(sizeof(P))..., 0};
  return kBytes[i];
}

// As the fake driver starts it: values of parameters by address.
template <auto kKernel>
void launch(void** values, const unsigned* grid, const unsigned* block, bool has_barriers) {
  body = [](void** given) { call_kernel<kKernel>(kKernel, given); };
  params = values;
  gridDim = {int(grid[0]), int(grid[1]), int(grid[2])};
  blockDim = {int(block[0]), int(block[1]), int(block[2])};
  thread_count = blockDim.x * blockDim.y * blockDim.z;
  for (int z = 0; z < gridDim.z; ++z)
    for (int y = 0; y < gridDim.y; ++y)
      for (int x = 0; x < gridDim.x; ++x) {
        blockIdx = {x, y, z};
        if (has_barriers) {
          run_block_with_barriers();
          continue;
        }
        for (int t = 0; t < thread_count; ++t) {
          threadIdx = index_of(t);
          body(params);
        }
      }
}

}  // namespace fake

template <unsigned kBarriers>
struct tf_bulk_copies : tf_bulk_copies_of<kBarriers, FakeIndex> {
  explicit tf_bulk_copies(void* memory) : tf_bulk_copies_of<kBarriers, FakeIndex>(memory, threadIdx) {}
};

inline void __syncthreads() {
  swapcontext(&fake::fibers[fake::running], &fake::scheduler);
}
inline void __syncwarp(unsigned = ~0u) {
  __syncthreads();
}

// A warp's threads meet as a whole block does: every thread of a block calls these, as generated code has it.
inline unsigned long long fake_lanes[fake::kMostThreads];
template <typename T>
T fake_exchange(T value, int from) {
  memcpy(&fake_lanes[fake::running], &value, sizeof value);
  __syncthreads();
  T other;
  memcpy(&other, &fake_lanes[from], sizeof other);
  __syncthreads();
  return other;
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
  return fake_exchange(value, fake::running ^ mask);
}
template <typename T>
T __shfl_down_sync(unsigned, T value, int distance, int width = 32) {
  const int lane = fake::running % width;
  return fake_exchange(value, lane + distance < width ? fake::running + distance : fake::running);
}
template <typename T>
T __shfl_sync(unsigned, T value, int lane, int width = 32) {
  return fake_exchange(value, fake::running / width * width + lane % width);
}

// At once, which a device may do too; the interpreter has the late ones.
inline void fake_copy(void* to, const void* from, bool holds, int bytes) {
  if (holds)
    memcpy(to, from, static_cast<size_t>(bytes));
  else
    memset(to, 0, static_cast<size_t>(bytes));
}
inline void tf_copy_async_4(void* to, const void* from, bool holds) {
  fake_copy(to, from, holds, 4);
}
inline void tf_copy_async_8(void* to, const void* from, bool holds) {
  fake_copy(to, from, holds, 8);
}
inline void tf_copy_async_16(void* to, const void* from, bool holds) {
  fake_copy(to, from, holds, 16);
}
inline void tf_end_copies() {}
inline void tf_wait_copies(size_t) {}

template <typename To, typename From>
To fake_cast(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  memcpy(&to, &from, sizeof to);
  return to;
}
inline float __int_as_float(int bits) {
  return fake_cast<float>(bits);
}
inline float __uint_as_float(unsigned bits) {
  return fake_cast<float>(bits);
}
inline unsigned __float_as_uint(float x) {
  return fake_cast<unsigned>(x);
}
inline int __float_as_int(float x) {
  return fake_cast<int>(x);
}
inline float rsqrtf(float x) {
  return 1.0f / sqrtf(x);
}
inline float tf_load_f16(unsigned short bits) {
  return fake_cast<_Float16>(bits);
}
inline unsigned short tf_store_f16(float x) {
  return fake_cast<unsigned short>(static_cast<_Float16>(x));
}
