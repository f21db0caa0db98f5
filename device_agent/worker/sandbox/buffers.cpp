#include "device_agent/worker/sandbox/buffers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "compiler/runtime/kernel_abi.h"
#include "compiler/runtime/large_pages.h"
#include "compiler/runtime/model.h"

namespace tf::worker::sandbox {
namespace {

constexpr uint8_t kCanary = 0xc5;
constexpr uint32_t kMaxCopies = 1024;
// Smaller constants are there in no time wherever they come from, and would take more sets than can be had.
constexpr uint64_t kLeastStoodInBytes = 16 << 10;

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

namespace {

// What any bytes will do for: floats and bytes, but no indices, and no sums of another constant.
bool may_be_flushed(const PortJob& port) {
  if (port.role != Role::kConstant || port.sum_axes != 0 || port.size_bytes < kLeastStoodInBytes)
    return false;
  switch (port.stored_element) {
    case TF_ELEMENT_FLOAT16:
    case TF_ELEMENT_BFLOAT16:
    case TF_ELEMENT_FLOAT32:
    case TF_ELEMENT_FLOAT64:
    case TF_ELEMENT_INT8:
    case TF_ELEMENT_UINT8:
      return true;
    default:
      return false;
  }
}

}  // namespace

// One more line between two buffers: equal power-of-two sizes would otherwise all map to the same cache sets.
void RotatingSets::lay_out(const Job& job) {
  for (uint32_t p = 0; p < job.port_count; ++p) {
    is_flushed_[p] = job.rotate && job.reuse_distance_bytes > 0 && may_be_flushed(job.ports[p]);
    uint64_t& end_bytes = is_flushed_[p] ? constant_bytes_ : copy_bytes_;
    offsets_[p] = end_bytes;
    end_bytes += round_up(job.ports[p].size_bytes, TF_ALIGNMENT) + TF_ALIGNMENT;
  }
  if (copy_bytes_ == 0) copy_bytes_ = TF_ALIGNMENT;
}

bool RotatingSets::allocate(const Job& job, const FlushBuffer& flush_buffer) {
  others_ = &flush_buffer;
  lay_out(job);
  if (job.rotate) {
    const uint64_t wanted = std::clamp<uint64_t>(job.rotate_bytes / copy_bytes_ + 1, 2, kMaxCopies);
    const uint64_t half_bytes = job.memory_bytes / 2;
    const uint64_t room_bytes = half_bytes > constant_bytes_ ? half_bytes - constant_bytes_ : 0;
    copies_ = static_cast<uint32_t>(std::clamp<uint64_t>(room_bytes / copy_bytes_, 1, wanted));
  }
  // One of them is the job's own, so that the flush buffers are less than the distance.
  if (constant_bytes_ > 0) {
    constants_ = static_cast<uint32_t>((job.reuse_distance_bytes + constant_bytes_ - 1) / constant_bytes_);
  }
  count_ = std::max(copies_, constants_);
  base_ = tf_map_large(constant_bytes_ + copies_ * copy_bytes_).data;
  return base_ != nullptr;
}

uint8_t* RotatingSets::data(uint32_t set, uint32_t port) const {
  if (is_flushed_[port]) {
    const uint32_t constants = set % constants_;
    if (constants == 0) return base_ + offsets_[port];
    return others_->data() + (constants - 1) * constant_bytes_ + offsets_[port];
  }
  return base_ + constant_bytes_ + set % copies_ * copy_bytes_ + offsets_[port];
}

}  // namespace tf::worker::sandbox
