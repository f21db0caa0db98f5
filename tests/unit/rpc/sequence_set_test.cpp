#include "rpc/transfer/sequence_set.h"

#include <limits>
#include <random>
#include <set>

namespace tf::rpc {
namespace {

TEST(SequenceSet, HoldsExactlyWhatWasInserted) {
  SequenceSet set;
  for (const uint64_t sequence : {3, 1, 2, 7, 5, 6}) set.insert(sequence);
  for (const uint64_t sequence : {1, 2, 3, 5, 6, 7}) EXPECT_TRUE(set.contains(sequence)) << sequence;
  EXPECT_FALSE(set.contains(4));
  EXPECT_FALSE(set.contains(8));
  EXPECT_TRUE(set.contains(0)) << "which is no sequence";
}

TEST(SequenceSet, HoldsTheSameAsASetWhateverTheOrder) {
  constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();
  std::mt19937_64 random(7);
  for (int round = 0; round < 100; ++round) {
    SequenceSet runs;
    std::set<uint64_t> plain = {0};
    for (int i = 0; i < 60; ++i) {
      const uint64_t sequence = round % 2 == 0 ? random() % 64 : kEnd - random() % 64;
      runs.insert(sequence);
      plain.insert(sequence);
      for (uint64_t near = 0; near < 64; ++near) {
        ASSERT_EQ(runs.contains(near), plain.contains(near)) << near;
        ASSERT_EQ(runs.contains(kEnd - near), plain.contains(kEnd - near)) << near;
      }
      size_t begins = 0;
      for (const uint64_t each : plain) begins += each == 0 || !plain.contains(each - 1);
      ASSERT_EQ(runs.runs(), begins);
    }
  }
}

TEST(SequenceSet, TakesAsMuchForManyInOrderAsForOne) {
  SequenceSet set;
  for (uint64_t sequence = 1; sequence < 100'000; ++sequence) set.insert(sequence);
  EXPECT_EQ(set.runs(), 1u);
}

}  // namespace
}  // namespace tf::rpc
