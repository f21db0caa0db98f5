#include "rpc/transfer_memory.h"

#include <cstdint>
#include <vector>

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

TEST(TransferMemory, OfOnePeerKeepsNobodyElsesAway) {
  TransferMemory memory(100, 2);
  std::vector<TransferMemory::Share> of_ada;
  for (int i = 0; i < 2; ++i) {
    auto share = memory.take(10, "ada");
    ASSERT_TRUE(share.ok()) << share.status();
    of_ada.push_back(*std::move(share));
  }
  const absl::Status refused = memory.take(10, "ada").status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("2 transfers of ada"));
  EXPECT_TRUE(memory.take(80, "bob").ok());
  of_ada.pop_back();
  EXPECT_TRUE(memory.take(90, "ada").ok());
}

TEST(TransferMemory, ATransferThatTellsItsSizeLateHasItsPlaceBefore) {
  TransferMemory memory(100, 1);
  {
    auto share = memory.take(0, "ada");
    ASSERT_TRUE(share.ok()) << share.status();
    EXPECT_TRUE(absl::IsUnavailable(memory.take(0, "ada").status()));
    EXPECT_TRUE(share->grow(60).ok());
    EXPECT_TRUE(absl::IsUnavailable(share->grow(41)));
    EXPECT_TRUE(absl::IsUnavailable(memory.take(41, "bob").status()));
    EXPECT_TRUE(memory.take(40, "bob").ok());
  }
  EXPECT_TRUE(memory.take(100, "ada").ok());
}

}  // namespace
}  // namespace tf::rpc
