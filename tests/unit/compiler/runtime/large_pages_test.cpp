#include "compiler/runtime/large_pages.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

TEST(LargePages, AreZeroedAlignedMemoryOfAnySize) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{5000}, uint64_t{TF_LARGE_PAGE_BYTES} / 2,
                              uint64_t{TF_LARGE_PAGE_BYTES}, uint64_t{TF_LARGE_PAGE_BYTES} * 3 + 1}) {
    tf_mapping memory = tf_map_large(size);
    ASSERT_NE(memory.data, nullptr);
    const auto address = reinterpret_cast<uintptr_t>(memory.data);
    EXPECT_EQ(address % (size >= TF_LARGE_PAGE_BYTES / 2 ? TF_LARGE_PAGE_BYTES : 64), 0u) << size;
    EXPECT_GE(memory.data, static_cast<uint8_t*>(memory.mapped));
    EXPECT_LE(memory.data + size, static_cast<uint8_t*>(memory.mapped) + memory.mapped_bytes);
    EXPECT_TRUE(std::all_of(memory.data, memory.data + size, [](uint8_t byte) { return byte == 0; }));
    std::fill_n(memory.data, size, uint8_t{1});
    tf_unmap_large(&memory);
    EXPECT_EQ(memory.data, nullptr);
    tf_unmap_large(&memory);  // again: nothing
  }
}

TEST(LargePages, MoreThanThereIsIsNone) {
  EXPECT_EQ(tf_map_large(uint64_t{1} << 60).data, nullptr);
}

}  // namespace
