#include "rpc/transfer_pace.h"

#include "rpc/stall_watch.h"

namespace tf::rpc {
namespace {

TEST(TransferPace, OfTheSlowestLineIsEnough) {
  FakeClock clock;
  TransferPace pace(clock);
  clock.advance(kTransferGracePeriod);
  for (int chunk = 0; chunk < 100; ++chunk) {
    clock.advance(longest_transfer(kChunkBytes));
    EXPECT_TRUE(pace.moved(kChunkBytes).ok()) << chunk;
  }
}

TEST(TransferPace, OfAByteNowAndThenIsNot) {
  FakeClock clock;
  TransferPace pace(clock);
  EXPECT_TRUE(pace.moved(1).ok());
  clock.advance(kTransferGracePeriod / 2);
  EXPECT_TRUE(pace.moved(1).ok());
  clock.advance(kTransferGracePeriod / 2 + absl::Seconds(1));
  const absl::Status slow = pace.moved(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(slow)) << slow;
  EXPECT_THAT(std::string(slow.message()), testing::HasSubstr("only 3 bytes moved in 1m1s"));
}

TEST(TransferPace, CountsWhatCameFasterBefore) {
  FakeClock clock;
  TransferPace pace(clock);
  EXPECT_TRUE(pace.moved(100 * kChunkBytes).ok());
  clock.advance(longest_transfer(100 * kChunkBytes));
  EXPECT_TRUE(pace.moved(1).ok());
}

}  // namespace
}  // namespace tf::rpc
