#include "tests/bench/peers/memory_floor.h"

#include <algorithm>
#include <atomic>
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

// Of the widest registers that any of those has; the others take several.
using Vector = uint64_t __attribute__((vector_size(64), may_alias));
constexpr int64_t kBlockBytes = 512;
constexpr int64_t kVectors = kBlockBytes / sizeof(Vector);

// Plain loops and not the C library's, which passes by the caches from some size on. The key is not known
// when this is compiled, so that they stay loops.
TF_WIDEST_VECTORS void copy_blocks(const Vector* from, Vector* to, int64_t blocks, uint64_t key) {
  for (int64_t block = 0; block < blocks; ++block) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kVectors; ++i) to[block * kVectors + i] = from[block * kVectors + i] ^ key;
  }
}

TF_WIDEST_VECTORS void write_blocks(Vector* to, int64_t blocks, uint64_t key) {
  const Vector keys = Vector{} + key;
  for (int64_t block = 0; block < blocks; ++block) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kVectors; ++i) to[block * kVectors + i] = keys;
  }
}

// All bits that are set somewhere: loads whose result is wanted cannot be left out.
TF_WIDEST_VECTORS uint64_t read_blocks(const Vector* from, int64_t blocks) {
  Vector bits[kVectors] = {};
  for (int64_t block = 0; block < blocks; ++block) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kVectors; ++i) bits[i] |= from[block * kVectors + i];
  }
  Vector all = {};
  for (const Vector& some : bits) all |= some;
  uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word |= all[i];
  return word;
}

std::atomic<uint64_t> last_key = 1;  // read and written by every run

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
  const Vector* source = buffers.source.as<const Vector>().data() + from * kVectors;
  Vector* target = buffers.target.as<Vector>().data() + to * kVectors;
  const uint64_t key = last_key;
  copy_blocks(source, target, both, key);
  write_blocks(target + both * kVectors, writes - both, key);
  last_key = key | read_blocks(source + both * kVectors, reads - both);
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
