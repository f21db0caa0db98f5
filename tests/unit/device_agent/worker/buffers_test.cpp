#include "device_agent/worker/sandbox/buffers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

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

// Input 0, constants 1 (large) and 2 (indices), output 3.
Job job_of(uint64_t reuse_distance_bytes) {
  Job job = {};
  job.rotate = 1;
  job.rotate_bytes = 40'000;
  job.reuse_distance_bytes = reuse_distance_bytes;
  job.memory_bytes = 64 << 20;
  job.port_count = 4;
  job.ports[0] = port(Role::kInput, 4096);
  job.ports[1] = port(Role::kConstant, 64 << 10);
  job.ports[2] = port(Role::kConstant, 256, TF_ELEMENT_INT32);
  job.ports[3] = port(Role::kOutput, 4096);
  return job;
}

TEST(RotatingSets, OfAKernelAloneAreAllItsOwn) {
  RotatingSets sets;
  const StandIns none;
  ASSERT_TRUE(sets.allocate(job_of(0), none));
  ASSERT_EQ(sets.count(), 2u) << "at least two";
  std::set<uint8_t*> places;
  for (uint32_t s = 0; s < sets.count(); ++s) {
    EXPECT_TRUE(sets.gives_answers(s));
    for (uint32_t p = 0; p < 4; ++p) {
      EXPECT_TRUE(sets.owns(s, p));
      places.insert(sets.data(s, p));
      std::memset(sets.data(s, p), 1, 256);
    }
  }
  EXPECT_EQ(places.size(), 8u);
}

TEST(RotatingSets, OfANetworkReadLargeConstantsAtTheReuseDistance) {
  StandIns stand_ins;
  stand_ins.grow(1 << 20);
  RotatingSets sets;
  ASSERT_TRUE(sets.allocate(job_of(1 << 20), stand_ins));
  EXPECT_EQ(sets.count(), 16u);
  std::set<uint8_t*> constants;
  std::map<uint8_t*, std::set<uint32_t>> written;
  for (uint32_t s = 0; s < sets.count(); ++s) {
    EXPECT_EQ(sets.owns(s, 1), s == 0);
    EXPECT_EQ(sets.gives_answers(s), s == 0);
    constants.insert(sets.data(s, 1));
    written[sets.data(s, 3)].insert(s);
    EXPECT_EQ(sets.data(s, 2) - sets.data(s, 0), sets.data(0, 2) - sets.data(0, 0))
        << "indices go with the rest";
    if (s == 0) continue;
    EXPECT_GE(sets.data(s, 1), stand_ins.data());
    EXPECT_LE(sets.data(s, 1) + (64 << 10), stand_ins.data() + stand_ins.size_bytes());
  }
  EXPECT_EQ(constants.size(), 16u);
  EXPECT_EQ(written.size(), 5u) << "40,000 bytes of what is not constant";
  EXPECT_EQ(written[sets.data(0, 3)], std::set<uint32_t>{0})
      << "nothing else is written where the answers are";
}

TEST(RotatingSets, MakeDoWithTheStandInsThatThereAre) {
  StandIns few;
  few.grow(1);  // a large page
  RotatingSets sets;
  ASSERT_TRUE(sets.allocate(job_of(32 << 20), few));
  EXPECT_EQ(sets.count(), 32u);
  const StandIns none;
  RotatingSets alone;
  ASSERT_TRUE(alone.allocate(job_of(32 << 20), none));
  for (uint32_t s = 0; s < alone.count(); ++s) EXPECT_EQ(alone.data(s, 1), alone.data(0, 1));
}

TEST(RotatingSets, TakeNoMoreThanHalfOfTheMemory) {
  Job job = job_of(0);
  job.rotate_bytes = 32 << 20;
  job.memory_bytes = 1 << 20;
  const StandIns none;
  RotatingSets sets;
  ASSERT_TRUE(sets.allocate(job, none));
  EXPECT_EQ(sets.count(), 7u);
}

TEST(StandIns, AreNumbersOfEveryTypeThatTheyStandInFor) {
  StandIns stand_ins;
  stand_ins.grow(100);
  ASSERT_GE(stand_ins.size_bytes(), 100u);
  uint8_t* const before = stand_ins.data();
  stand_ins.grow(50);
  EXPECT_EQ(stand_ins.data(), before) << "there are enough";
  for (uint64_t at = 0; at + 8 <= stand_ins.size_bytes(); at += 8) {
    float single;
    double wide;
    uint16_t half;
    std::memcpy(&single, stand_ins.data() + at, sizeof single);
    std::memcpy(&wide, stand_ins.data() + at, sizeof wide);
    std::memcpy(&half, stand_ins.data() + at, sizeof half);
    ASSERT_TRUE(std::isnormal(single) && single < 1) << at;
    ASSERT_TRUE(std::isnormal(wide)) << at;
    ASSERT_EQ(half & 0xfc00, 0x3c00) << "from 1 to 2 as f16, normal as bf16";
  }
}

}  // namespace
