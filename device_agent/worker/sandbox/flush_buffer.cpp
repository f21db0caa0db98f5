#include "device_agent/worker/sandbox/flush_buffer.h"

#include <sys/mman.h>

#include <cstring>

#include "base/mix.h"

namespace tf::worker::sandbox {
namespace {

constexpr uint64_t kPatternBytes = 1 << 16;

// A number of every type that is stood in for: each pair of bytes is between 1 and 1.25 as f16 and about 0.01
// as bf16 or as the upper half of an f32, so that no sum overflows and nothing is subnormal.
void fill(uint8_t* data, uint64_t size_bytes) {
  for (uint64_t i = 0; i < kPatternBytes; i += 2) {
    data[i] = static_cast<uint8_t>(mix(i));
    data[i + 1] = 0x3c;
  }
  for (uint64_t i = kPatternBytes; i < size_bytes; i += kPatternBytes)
    std::memcpy(data + i, data, kPatternBytes);
}

}  // namespace

void FlushBuffer::grow(uint64_t size_bytes) {
  if (size_bytes <= size_bytes_) return;
  const uint64_t bytes = (size_bytes + kPatternBytes - 1) / kPatternBytes * kPatternBytes;
  tf_unmap_large(&memory_);  // first: never both at a time
  memory_ = tf_map_large(bytes);
  size_bytes_ = memory_.data == nullptr ? 0 : bytes;
  if (size_bytes_ == 0) return;
  fill(memory_.data, bytes);
  mprotect(memory_.mapped, memory_.mapped_bytes, PROT_READ);
}

}  // namespace tf::worker::sandbox
