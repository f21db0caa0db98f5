#include "device_agent/worker/sandbox/buffers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "compiler/runtime/model.h"

namespace {

using namespace tf::worker::sandbox;

PortJob port(Role role, uint64_t size_bytes, int32_t element = TF_ELEMENT_FLOAT32) {
  PortJob made = {};
  made.role = role;
  made.element = made.stored_element = element;
  made.size_bytes = size_bytes;
  return made;
}

// Input 0, constants 1 (large), 2 (indices) and 4 (small), output 3.
Job job_of(uint64_t reuse_distance_bytes) {
  Job job = {};
  job.rotate = 1;
  job.rotate_bytes = 40'000;
  job.reuse_distance_bytes = reuse_distance_bytes;
  job.memory_bytes = 64 << 20;
  job.port_count = 5;
  job.ports[0] = port(Role::kInput, 4096);
  job.ports[1] = port(Role::kConstant, 64 << 10);
  job.ports[2] = port(Role::kConstant, 256, TF_ELEMENT_INT32);
  job.ports[3] = port(Role::kOutput, 4096);
  job.ports[4] = port(Role::kConstant, 1024);
  return job;
}

TEST(RotatingSets, OfAKernelAloneAreAllItsOwn) {
  RotatingSets sets;
  const FlushBuffer none;
  ASSERT_TRUE(sets.allocate(job_of(0), none));
  ASSERT_EQ(sets.count(), 2u) << "at least two";
  std::set<uint8_t*> places;
  for (uint32_t s = 0; s < sets.count(); ++s) {
    for (uint32_t p = 0; p < 5; ++p) {
      EXPECT_TRUE(sets.owns(s, p));
      places.insert(sets.data(s, p));
      std::memset(sets.data(s, p), 1, 256);
    }
  }
  EXPECT_EQ(places.size(), 10u);
}

TEST(RotatingSets, OfANetworkReadLargeConstantsAtTheReuseDistance) {
  FlushBuffer flush_buffer;
  flush_buffer.grow(1 << 20);
  RotatingSets sets;
  ASSERT_TRUE(sets.allocate(job_of(1 << 20), flush_buffer));
  EXPECT_EQ(sets.count(), 16u);
  std::set<uint8_t*> constants;
  std::set<uint8_t*> written;
  for (uint32_t s = 0; s < sets.count(); ++s) {
    EXPECT_EQ(sets.owns(s, 1), s == 0);
    constants.insert(sets.data(s, 1));
    written.insert(sets.data(s, 3));
    for (uint32_t other : {2, 4}) {
      EXPECT_EQ(sets.data(s, other) - sets.data(s, 0), sets.data(0, other) - sets.data(0, 0))
          << "indices and small constants go with the rest";
    }
    if (s == 0) continue;
    EXPECT_GE(sets.data(s, 1), flush_buffer.data());
    EXPECT_LE(sets.data(s, 1) + (64 << 10), flush_buffer.data() + flush_buffer.size_bytes());
  }
  EXPECT_EQ(constants.size(), 16u);
  EXPECT_EQ(written.size(), 5u) << "40,000 bytes of what is not constant";
}

TEST(RotatingSets, OfANetworkReadNoLessThanTheReuseDistance) {
  Job job = job_of(2 << 20);
  job.rotate_bytes = 1;
  FlushBuffer flush_buffer;
  flush_buffer.grow(job.reuse_distance_bytes);
  for (const auto& [size_bytes, sets_needed] :
       {std::pair{700u << 10, 3u}, std::pair{600u << 10, 4u}, std::pair{16u << 10, 128u}}) {
    job.ports[1].size_bytes = size_bytes;
    RotatingSets sets;
    ASSERT_TRUE(sets.allocate(job, flush_buffer));
    EXPECT_EQ(sets.count(), sets_needed);
    for (uint32_t s = 1; s < sets.count(); ++s)
      EXPECT_LE(sets.data(s, 1) + size_bytes, flush_buffer.data() + flush_buffer.size_bytes());
  }
}

TEST(RotatingSets, TakeNoMoreThanHalfOfTheMemory) {
  Job job = job_of(0);
  job.rotate_bytes = 32 << 20;
  job.memory_bytes = 1 << 20;
  const FlushBuffer none;
  RotatingSets sets;
  ASSERT_TRUE(sets.allocate(job, none));
  EXPECT_EQ(sets.count(), 6u);
}

TEST(FlushBuffer, HoldsNumbersOfEveryType) {
  FlushBuffer flush_buffer;
  flush_buffer.grow(100);
  ASSERT_GE(flush_buffer.size_bytes(), 100u);
  uint8_t* const before = flush_buffer.data();
  flush_buffer.grow(50);
  EXPECT_EQ(flush_buffer.data(), before) << "there are enough";
  flush_buffer.grow(uint64_t{1} << 60);
  EXPECT_EQ(flush_buffer.size_bytes(), 0u) << "no memory has that much";
  flush_buffer.grow(100);
  ASSERT_GE(flush_buffer.size_bytes(), 100u);
  for (uint64_t at = 0; at + 8 <= flush_buffer.size_bytes(); at += 8) {
    float single;
    double wide;
    uint16_t half;
    std::memcpy(&single, flush_buffer.data() + at, sizeof single);
    std::memcpy(&wide, flush_buffer.data() + at, sizeof wide);
    std::memcpy(&half, flush_buffer.data() + at, sizeof half);
    ASSERT_TRUE(std::isnormal(single) && single < 1) << at;
    ASSERT_TRUE(std::isnormal(wide)) << at;
    ASSERT_EQ(half & 0xfc00, 0x3c00) << "from 1 to 2 as f16, normal as bf16";
  }
}

}  // namespace
