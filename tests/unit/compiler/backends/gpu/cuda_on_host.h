// Owns: enough of CUDA C for a C++ compiler: the threads of a block are threads, blocks run one after
// another. Included before generated kernels, whose text it must not depend on.
#pragma once
#include <barrier>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../../../support/fake_cuda/bulk_copies.h"

#define __global__
#define __device__
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(threads)
#define TF_HAS_HALF
#define TF_HAS_ASYNC_COPIES

struct TfIndex {
  int x, y, z;
};
inline thread_local TfIndex threadIdx, blockIdx;
inline std::barrier<>* tf_barrier = nullptr;
inline void __syncthreads() {
  tf_barrier->arrive_and_wait();
}
template <unsigned kBarriers>
struct tf_bulk_copies : tf_bulk_copies_of<kBarriers, TfIndex> {
  explicit tf_bulk_copies(void* memory) : tf_bulk_copies_of<kBarriers, TfIndex>(memory, threadIdx) {}
};
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

// What the lanes of a warp show each other, between meetings of all of them.
struct TfWarp {
  std::barrier<> meeting{32};
  const void* shown[2][32];
};
inline thread_local TfWarp* tf_warp = nullptr;
inline thread_local int tf_own_lane = 0;
inline int tf_lane() {
  return tf_own_lane;
}
inline void tf_show(const void* first, const void* second) {
  tf_warp->shown[0][tf_lane()] = first;
  tf_warp->shown[1][tf_lane()] = second;
  tf_warp->meeting.arrive_and_wait();
}

template <typename T>
T __shfl_xor_sync(unsigned, T value, int step) {
  tf_show(&value, nullptr);
  const T other = *static_cast<const T*>(tf_warp->shown[0][tf_lane() ^ step]);
  tf_warp->meeting.arrive_and_wait();
  return other;
}

// A lane's part of matrix i is in line lane / 4 of it, whose address lane 8i + lane / 4 gives; transposed, in column lane / 4.
template <int kCount, bool kTransposed>
void tf_load_matrices(unsigned* r, const void* line) {
  if (reinterpret_cast<std::uintptr_t>(line) % 16 != 0) std::abort();
  tf_show(line, nullptr);
  for (int i = 0; i < kCount; ++i) {
    const auto element = [&](int row, int column) {
      return static_cast<const unsigned short*>(tf_warp->shown[0][8 * i + row])[column];
    };
    const int own = tf_lane() / 4, pair = tf_lane() % 4 * 2;
    r[i] = kTransposed ? element(pair, own) | unsigned{element(pair + 1, own)} << 16
                       : element(own, pair) | unsigned{element(own, pair + 1)} << 16;
  }
  tf_warp->meeting.arrive_and_wait();
}

// Asynchronous copies arrive when the thread waits for them, as late as is legal.
struct TfCopy {
  unsigned char* to;
  unsigned char bytes[16];
  int size;
};
inline thread_local std::vector<std::vector<TfCopy>> tf_copies;
inline void tf_copy_async(void* to, const void* from, bool holds, int size) {
  if (tf_copies.empty()) tf_copies.emplace_back();
  TfCopy copy{static_cast<unsigned char*>(to), {}, size};
  if (holds) std::memcpy(copy.bytes, from, size);
  std::memset(to, 0xff, size);
  tf_copies.back().push_back(copy);
}
inline void tf_copy_async_4(void* to, const void* from, bool holds) {
  tf_copy_async(to, from, holds, 4);
}
inline void tf_copy_async_8(void* to, const void* from, bool holds) {
  tf_copy_async(to, from, holds, 8);
}
inline void tf_copy_async_16(void* to, const void* from, bool holds) {
  tf_copy_async(to, from, holds, 16);
}
inline void tf_end_copies() {
  tf_copies.emplace_back();
}
inline void tf_wait_copies(std::size_t groups) {  // the last group is open
  for (; tf_copies.size() > groups + 1; tf_copies.erase(tf_copies.begin()))
    for (const TfCopy& copy : tf_copies.front()) std::memcpy(copy.to, copy.bytes, copy.size);
}

// A pointer, or a tensor map by its address.
template <typename P>
P tf_argument(void* given) {
  if constexpr (std::is_pointer_v<P>)
    return static_cast<P>(given);
  else
    return *static_cast<P*>(given);
}
template <typename... P, std::size_t... I>
void tf_call_kernel(void (*kernel)(P...), void** buffers, std::index_sequence<I...>) {
  kernel(tf_argument<P>(buffers[I])...);
}

template <typename... P>
void tf_launch(void (*kernel)(P...), void** buffers, const long long* grid, const long long* block) {
  for (long long b = 0; b < grid[0] * grid[1] * grid[2]; ++b) {
    const long long count = block[0] * block[1] * block[2];
    std::barrier<> barrier(count);
    tf_barrier = &barrier;
    std::vector<TfWarp> warps((count + 31) / 32);
    std::vector<std::jthread> threads;
    for (long long t = 0; t < count; ++t) {
      threads.emplace_back([=, warp = &warps[t / 32]] {
        tf_warp = warp;
        tf_own_lane = int(t % 32);
        blockIdx = {int(b % grid[0]), int(b / grid[0] % grid[1]), int(b / grid[0] / grid[1])};
        threadIdx = {int(t % block[0]), int(t / block[0] % block[1]), int(t / block[0] / block[1])};
        tf_call_kernel(kernel, buffers, std::index_sequence_for<P...>());
        tf_barrier->arrive_and_drop();
      });
    }
  }
}
