// Owns: enough of CUDA C for a C++ compiler: the threads of a block are threads, blocks run one after
// another. Included before generated kernels, whose text it must not depend on.
#pragma once
#include <barrier>
#include <bit>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(threads)
#define TF_HAS_HALF

struct TfIndex {
  int x, y, z;
};
inline thread_local TfIndex threadIdx, blockIdx;
inline std::barrier<>* tf_barrier = nullptr;
inline void __syncthreads() {
  tf_barrier->arrive_and_wait();
}
inline float __int_as_float(int bits) {
  return std::bit_cast<float>(bits);
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float rsqrtf(float x) {
  return 1.0f / std::sqrt(x);
}
inline float tf_load_f16(unsigned short bits) {
  return std::bit_cast<_Float16>(bits);
}
inline unsigned short tf_store_f16(float x) {
  return std::bit_cast<unsigned short>(static_cast<_Float16>(x));
}

template <typename... P, std::size_t... I>
void tf_call_kernel(void (*kernel)(P...), void** buffers, std::index_sequence<I...>) {
  kernel(static_cast<P>(buffers[I])...);
}

template <typename... P>
void tf_launch(void (*kernel)(P...), void** buffers, const long long* grid, const long long* block) {
  for (long long b = 0; b < grid[0] * grid[1] * grid[2]; ++b) {
    const long long count = block[0] * block[1] * block[2];
    std::barrier<> barrier(count);
    tf_barrier = &barrier;
    std::vector<std::jthread> threads;
    for (long long t = 0; t < count; ++t) {
      threads.emplace_back([=] {
        blockIdx = {int(b % grid[0]), int(b / grid[0] % grid[1]), int(b / grid[0] / grid[1])};
        threadIdx = {int(t % block[0]), int(t / block[0] % block[1]), int(t / block[0] / block[1])};
        tf_call_kernel(kernel, buffers, std::index_sequence_for<P...>());
        tf_barrier->arrive_and_drop();
      });
    }
  }
}
