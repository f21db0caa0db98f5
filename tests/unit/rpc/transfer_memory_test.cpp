#include "rpc/transfer_memory.h"

#include <cstdint>
#include <vector>

namespace tf::rpc {
namespace {

TEST(TransferMemory, IsGivenUpToALimitAndAgainWhenTransfersEnd) {
  TransferMemory memory({.bytes = 100});
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
  TransferMemory memory({.bytes = 100});
  const auto one = memory.take(60);
  EXPECT_TRUE(absl::IsResourceExhausted(memory.take(UINT64_MAX - 10).status()));
  EXPECT_TRUE(absl::IsUnavailable(memory.take(41).status()));
  EXPECT_TRUE(memory.take(40).ok());
}

TEST(TransferMemory, OfOnePeerKeepsNobodyElsesAway) {
  TransferMemory memory({.bytes = 100, .transfers_of_each = 2});
  std::vector<TransferMemory::Share> of_ada;
  for (int i = 0; i < 2; ++i) {
    auto share = memory.take(10, "ada");
    ASSERT_TRUE(share.ok()) << share.status();
    of_ada.push_back(*std::move(share));
  }
  const absl::Status refused = memory.take(10, "ada").status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("ada already has 2 uploads in progress"));
  EXPECT_TRUE(memory.take(80, "bob").ok());
  of_ada.pop_back();
  EXPECT_TRUE(memory.take(90, "ada").ok());
}

TEST(TransferMemory, NobodyWithANameTakesMoreThanHisShare) {
  TransferMemory memory({.bytes = 100, .bytes_of_each = 50});
  {
    auto of_ada = memory.take(30, "ada");
    ASSERT_TRUE(of_ada.ok()) << of_ada.status();
    const absl::Status refused = memory.take(21, "ada").status();
    EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr(" from ada would be in transfer"));
    EXPECT_TRUE(absl::IsUnavailable(of_ada->grow(21)));
    EXPECT_TRUE(of_ada->grow(20).ok());
    EXPECT_TRUE(memory.take(50, "bob").ok());
    EXPECT_TRUE(memory.take(50).ok());
    EXPECT_EQ(memory.taken_bytes(), 50u);
  }
  EXPECT_TRUE(memory.take(50, "ada").ok());
  EXPECT_TRUE(memory.take(100).ok()) << "nobody knows whose that is";
  EXPECT_EQ(memory.taken_bytes(), 0u);
}

TEST(TransferMemory, SaysOfWhatNeverFindsRoomThatToTryAgainIsNoUse) {
  TransferMemory memory({.bytes = 100, .bytes_of_each = 50});
  const absl::Status refused = memory.take(51, "ada").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("51 bytes is too large: at most 50"));
  EXPECT_TRUE(absl::IsResourceExhausted(memory.take(101).status()));
  EXPECT_TRUE(memory.take(50, "ada").ok());
}

TEST(TransferMemory, ATransferThatTellsItsSizeLateHasItsPlaceBefore) {
  TransferMemory memory({.bytes = 100, .transfers_of_each = 1});
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
