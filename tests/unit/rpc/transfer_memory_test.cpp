#include "rpc/transfer_memory.h"

#include <cstdint>

namespace tf::rpc {
namespace {

TEST(TransferMemory, IsGivenUpToALimitAndAgainWhenTransfersEnd) {
  TransferMemory memory(100);
  const auto one = memory.take(60);
  EXPECT_TRUE(one.ok());
  {
    const auto other = memory.take(40);
    EXPECT_TRUE(other.ok());
    EXPECT_TRUE(absl::IsUnavailable(memory.take(1).status()));
  }
  EXPECT_TRUE(memory.take(40).ok());
}

TEST(TransferMemory, NoSizeThatAPeerAnnouncesWrapsAround) {
  TransferMemory memory(100);
  const auto one = memory.take(60);
  EXPECT_TRUE(absl::IsUnavailable(memory.take(UINT64_MAX - 10).status()));
  EXPECT_TRUE(absl::IsUnavailable(memory.take(41).status()));
  EXPECT_TRUE(memory.take(40).ok());
}

}  // namespace
}  // namespace tf::rpc
