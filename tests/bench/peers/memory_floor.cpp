#include "tests/bench/peers/memory_floor.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/support/loaded_kernel/loaded_kernel.h"

namespace tf::peers {
namespace {

using support::AlignedBytes;

#if defined(__x86_64__)
#define TF_WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TF_WIDEST_VECTORS
#endif

constexpr int64_t kBlockBytes = 512;

// Loads of blocks whose sum is wanted cannot be left out.
TF_WIDEST_VECTORS uint64_t read_blocks(const uint64_t* from, int64_t blocks) {
  constexpr int64_t kWords = kBlockBytes / sizeof(uint64_t);
  uint64_t sums[kWords] = {};
  for (int64_t block = 0; block < blocks; ++block) {
#pragma GCC unroll 64
    for (int64_t i = 0; i < kWords; ++i) sums[i] |= from[block * kWords + i];
  }
  uint64_t all = 0;
  for (const uint64_t sum : sums) all |= sum;
  return all;
}

volatile uint64_t sink;

struct Buffers {
  AlignedBytes source, target;
  int32_t threads;
};

// The part of the bytes that is one thread's, in whole blocks.
int64_t part(uint64_t bytes, int64_t index, int32_t threads) {
  const auto blocks = static_cast<int64_t>(bytes) / kBlockBytes;
  return blocks * index / threads;
}

int32_t move_part(void* closure, int64_t index, int32_t /*thread*/) {
  auto& buffers = *static_cast<Buffers*>(closure);
  const int64_t from = part(buffers.source.size(), index, buffers.threads),
                to = part(buffers.target.size(), index, buffers.threads);
  const int64_t reads = part(buffers.source.size(), index + 1, buffers.threads) - from,
                writes = part(buffers.target.size(), index + 1, buffers.threads) - to;
  const int64_t both = std::min(reads, writes);
  const uint8_t* source = buffers.source.data() + from * kBlockBytes;
  uint8_t* target = buffers.target.data() + to * kBlockBytes;
  std::memcpy(target, source, static_cast<size_t>(both * kBlockBytes));
  sink = read_blocks(reinterpret_cast<const uint64_t*>(source + both * kBlockBytes), reads - both);
  std::memset(target + both * kBlockBytes, static_cast<int>(index),
              static_cast<size_t>((writes - both) * kBlockBytes));
  return 0;
}

uint64_t whole_blocks(int64_t bytes) {
  return static_cast<uint64_t>((bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
}

}  // namespace

std::function<void()> memory_traffic(const bench::Traffic& traffic, const Runtime& runtime) {
  const auto buffers = std::make_shared<Buffers>(Buffers{AlignedBytes(whole_blocks(traffic.read_bytes), 1),
                                                         AlignedBytes(whole_blocks(traffic.written_bytes)),
                                                         runtime.get()->threads});
  return [buffers, &runtime] {
    if (buffers->threads == 1) {
      move_part(buffers.get(), 0, 0);
    } else {
      runtime.get()->parallel_for(runtime.get(), buffers->threads, move_part, buffers.get());
    }
  };
}

}  // namespace tf::peers
