// Owns: tensor maps as the fake driver makes them, and CUDA C's copies by them for a C++ compiler: they arrive when a wait makes them.
// Does not know: the driver.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#define TF_HAS_BULK_COPIES
#define __grid_constant__

// In place of CUtensorMap. Axes from the inside out.
struct alignas(64) tf_tensor_map {
  uint64_t address, strides_bytes[4];  // from the second axis on
  uint32_t rank, element_bytes, swizzle_bytes;
  uint32_t extents[5], box[5];
  uint32_t reserved[9];
};
static_assert(sizeof(tf_tensor_map) == 128);

namespace fake {

struct BoxCopy {
  void* to;
  const tf_tensor_map* map;
  int at[5];
};

inline uint32_t box_bytes(const tf_tensor_map& map) {
  uint32_t bytes = map.element_bytes;
  for (uint32_t axis = 0; axis < map.rank; ++axis) bytes *= map.box[axis];
  return bytes;
}

// Pieces of 16 bytes move by bits of their address: [4:6] by [7:9] of lines of 128 bytes, [4:5] by [7:8] of 64, [4] by [7] of 32.
inline void copy_box(const BoxCopy& copy) {
  const tf_tensor_map& map = *copy.map;
  const uint32_t size = map.element_bytes, count = box_bytes(map) / size;
  for (uint32_t n = 0; n < count; ++n) {
    uint64_t from = map.address;
    bool inside = true;
    for (uint32_t axis = 0, left = n; axis < map.rank; left /= map.box[axis++]) {
      const int64_t place = copy.at[axis] + int64_t{left % map.box[axis]};
      inside = inside && place >= 0 && place < int64_t{map.extents[axis]};
      from += static_cast<uint64_t>(place) * (axis == 0 ? size : map.strides_bytes[axis - 1]);
    }
    auto to = reinterpret_cast<uintptr_t>(copy.to) + uintptr_t{n} * size;
    if (map.swizzle_bytes != 0) to ^= (to >> 7 & (map.swizzle_bytes / 16 - 1)) << 4;
    if (inside)
      std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size);
    else
      std::memset(reinterpret_cast<void*>(to), 0, size);
  }
}

}  // namespace fake

// A thread's own: the first one's copies wait in it. Others see them behind a barrier, as generated code has it.
template <unsigned kBarriers, typename Index>
struct tf_bulk_copies_of {
  const bool is_first;
  std::vector<std::vector<fake::BoxCopy>> groups{1};
  tf_bulk_copies_of(void* memory, const Index& thread)
      : is_first(thread.x == 0 && thread.y == 0 && thread.z == 0) {
    if (reinterpret_cast<uintptr_t>(memory) % 8 != 0) std::abort();
  }
  template <typename... Places>
  void copy(void* to, const tf_tensor_map& map, unsigned size, Places... at) {
    if (!is_first) return;
    if (reinterpret_cast<uintptr_t>(to) % 128 != 0 || size != fake::box_bytes(map) ||
        sizeof...(at) != map.rank)
      std::abort();
    groups.back().push_back({to, &map, {int(at)...}});
  }
  void wait(unsigned groups_in_flight) {
    if (groups_in_flight + 2 > kBarriers) std::abort();
    for (size_t group = 0; group + groups_in_flight < groups.size(); ++group) {
      for (const fake::BoxCopy& copy : groups[group]) fake::copy_box(copy);
      groups[group].clear();
    }
    groups.emplace_back();
  }
};
