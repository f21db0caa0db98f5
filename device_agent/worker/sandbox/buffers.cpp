#include "device_agent/worker/sandbox/buffers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "compiler/runtime/kernel_abi.h"

namespace tf::worker::sandbox {
namespace {

constexpr uint8_t kCanary = 0xc5;
constexpr uint32_t kMaxSets = 1024;
constexpr uint64_t kHugePageBytes = 2 << 20;

uint64_t round_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

bool all_canary(const uint8_t* begin, const uint8_t* end) {
  return std::all_of(begin, end, [](uint8_t byte) { return byte == kCanary; });
}

}  // namespace

uint8_t* map_memory(uint64_t bytes) {
  void* memory =
      mmap(nullptr, std::max<uint64_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

void unmap_memory(uint8_t* memory, uint64_t bytes) {
  munmap(memory, std::max<uint64_t>(bytes, 1));
}

bool GuardedBuffer::allocate(uint64_t size_bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t used_bytes = round_up(size_bytes, TF_ALIGNMENT);
  const uint64_t accessible_bytes = round_up(used_bytes, page);
  void* region = mmap(nullptr, accessible_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED) return false;
  begin_ = static_cast<uint8_t*>(region) + page;
  end_ = begin_ + accessible_bytes;
  data_ = end_ - used_bytes;
  size_bytes_ = size_bytes;
  if (accessible_bytes == 0) return true;
  if (mprotect(begin_, accessible_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  std::memset(begin_, kCanary, static_cast<size_t>(data_ - begin_));
  std::memset(data_ + size_bytes, kCanary, used_bytes - size_bytes);
  return true;
}

bool GuardedBuffer::intact() const {
  return all_canary(begin_, data_) && all_canary(data_ + size_bytes_, end_);
}

bool RotatingSets::allocate(const Job& job) {
  for (uint32_t p = 0; p < job.port_count; ++p) {
    offsets_[p] = stride_bytes_;
    // One more line between two buffers: equal power-of-two sizes would otherwise all map to the same cache
    // sets.
    stride_bytes_ += round_up(job.ports[p].size_bytes, TF_ALIGNMENT) + TF_ALIGNMENT;
  }
  if (stride_bytes_ == 0) stride_bytes_ = TF_ALIGNMENT;
  count_ = 1;
  if (job.rotate) {
    const uint64_t wanted = std::clamp<uint64_t>(job.rotate_bytes / stride_bytes_ + 1, 2, kMaxSets);
    const uint64_t fitting = std::max<uint64_t>(job.memory_bytes / 2 / stride_bytes_, 1);
    count_ = static_cast<uint32_t>(std::min(wanted, fitting));
  }
  const uint64_t bytes = round_up(count_ * stride_bytes_, kHugePageBytes);
  uint8_t* memory = map_memory(bytes + kHugePageBytes);
  if (memory == nullptr) return false;
  base_ = reinterpret_cast<uint8_t*>(round_up(reinterpret_cast<uintptr_t>(memory), kHugePageBytes));
#ifdef MADV_HUGEPAGE
  madvise(base_, bytes, MADV_HUGEPAGE);  // refusal does no harm
#endif
  return true;
}

}  // namespace tf::worker::sandbox
