#include "compiler/runtime/large_pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace {

// What a large page is here, or would be elsewhere.
uint64_t some_large_page() {
  return std::max(tf_large_page_bytes(), uint64_t{2} << 20);
}

TEST(LargePages, AreZeroedAlignedMemoryOfAnySize) {
  const uint64_t large = some_large_page();
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{5000}, large - 1, large, large * 3 + 1}) {
    tf_mapping memory = tf_map_large(size);
    ASSERT_NE(memory.data, nullptr);
    const auto address = reinterpret_cast<uintptr_t>(memory.data);
    EXPECT_EQ(address % (size >= large && tf_large_page_bytes() != 0 ? large : 64), 0u) << size;
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
  const uint64_t large = some_large_page();
  for (const uint64_t size : {uint64_t{1} << 60, uint64_t{SIZE_MAX} - 2 * large, uint64_t{SIZE_MAX} - large,
                              uint64_t{SIZE_MAX} - 1, UINT64_MAX - 1, UINT64_MAX}) {
    EXPECT_EQ(tf_map_large(size).data, nullptr) << size;
  }
}

TEST(LargePages, OfACopyHoldTheSameBytes) {
  if (tf_large_page_bytes() == 0) GTEST_SKIP() << "this system gives none";
  std::vector<uint8_t> bytes(tf_large_page_bytes() + 5);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + (i >> 12));
  tf_mapping copy = tf_copy_large(bytes.data(), bytes.size());
  ASSERT_NE(copy.data, nullptr);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), copy.data));
  tf_unmap_large(&copy);
  EXPECT_EQ(tf_copy_large(bytes.data(), tf_large_page_bytes() - 1).data, nullptr) << "none is filled";
}

TEST(LargePages, OfACopyTakeNoLargeShareOfMemory) {
  const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
  const uint64_t half_bytes = pages / 2 * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(tf_copy_large(nullptr, half_bytes).data, nullptr);  // nothing is read
}

}  // namespace
