#include "rpc/transfer/transfer_budget.h"

#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/fake_clock.h"

namespace tf::rpc {
namespace {

using Transfer = TransferBudget::Transfer;
using testing::HasSubstr;

const auto kNever = [] { ADD_FAILURE() << "it came in time"; };

std::string message(const absl::Status& status) {
  return std::string(status.message());
}

TEST(TransferBudget, GivesBytesUpToALimitAndAgainWhenTransfersEnd) {
  TransferBudget budget({.bytes = 100});
  {
    Transfer a = budget.begin(kNever), b = budget.begin(kNever);
    EXPECT_TRUE(a.take(60).ok());
    EXPECT_TRUE(absl::IsUnavailable(b.take(41)));
    EXPECT_TRUE(b.take(40).ok());
    const Transfer moved = std::move(a);
    EXPECT_EQ(budget.taken_bytes(), 100u);
  }
  EXPECT_EQ(budget.taken_bytes(), 0u);
  EXPECT_TRUE(absl::IsResourceExhausted(budget.begin(kNever).take(101))) << "to try again is of no use";
}

TEST(TransferBudget, NoAnnouncedSizeWrapsAround) {
  TransferBudget budget({.bytes = 100});
  Transfer one = budget.begin(kNever), other = budget.begin(kNever);
  ASSERT_TRUE(one.take(50).ok());
  EXPECT_FALSE(other.take(std::numeric_limits<uint64_t>::max() - 20).ok());
  EXPECT_EQ(budget.taken_bytes(), 50u);
}

TEST(TransferBudget, OnePeerKeepsNoOtherAway) {
  TransferBudget budget({.bytes = 100, .transfers_of_each = 2, .bytes_of_each = 50});
  std::vector<Transfer> of_ada;
  for (int i = 0; i < 3; ++i) of_ada.push_back(budget.begin(kNever));
  EXPECT_TRUE(of_ada[0].take(0, "ada").ok());
  EXPECT_TRUE(of_ada[1].take(30, "ada").ok());
  EXPECT_THAT(message(of_ada[2].take(0, "ada")), HasSubstr("ada already has 2 uploads in progress"));
  EXPECT_TRUE(absl::IsUnavailable(of_ada[0].take(21, "ada"))) << "half is for others";
  EXPECT_TRUE(of_ada[0].take(20, "ada").ok()) << "it counted as a transfer before its size was known";
  Transfer of_bob = budget.begin(kNever);
  EXPECT_TRUE(of_bob.take(50, "bob").ok());
  EXPECT_TRUE(of_ada[1].finish().ok());
  EXPECT_TRUE(of_ada[2].take(30, "ada").ok());
}

class TransferTimeTest : public testing::Test {
 protected:
  // A wait for its peer of so long.
  absl::Status wait(Transfer& transfer, absl::Duration time, uint64_t bytes) {
    transfer.wait();
    clock_.advance(time);
    return transfer.moved(bytes);
  }

  FakeClock clock_;
  TransferBudget budget_{{}, clock_};
};

TEST_F(TransferTimeTest, OfTheSlowestLineIsEnoughForEver) {
  Transfer transfer = budget_.begin(kNever);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(wait(transfer, kLongestStep, kChunkBytes).ok()) << i;
  ASSERT_TRUE(wait(transfer, kTransferGracePeriod / 2, kChunkBytes).ok()) << "a gap in between is no end";
}

TEST_F(TransferTimeTest, IsNotGainedByAByteNowAndThen) {
  Transfer transfer = budget_.begin([] {});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(wait(transfer, kTransferGracePeriod / 4, 1).ok()) << i;
  EXPECT_THAT(message(wait(transfer, kTransferGracePeriod / 3, 1)), HasSubstr("only 4 bytes moved in"));
  EXPECT_THAT(message(transfer.finish()), HasSubstr("transfer too slow"));
}

TEST_F(TransferTimeTest, IsNotSavedForLater) {
  Transfer transfer = budget_.begin([] {});
  ASSERT_TRUE(wait(transfer, absl::ZeroDuration(), kMaxArtifactBytes).ok());
  EXPECT_FALSE(wait(transfer, kTransferGracePeriod + absl::Seconds(1), 1).ok());
}

TEST_F(TransferTimeTest, IsNotTakenByWhatTheServerItselfNeeds) {
  Transfer transfer = budget_.begin(kNever);
  ASSERT_TRUE(wait(transfer, absl::Seconds(1), 1).ok());
  clock_.advance(2 * kTransferGracePeriod);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // in which the budget looks at its clock
  EXPECT_TRUE(wait(transfer, absl::Seconds(1), 1).ok());
}

TEST_F(TransferTimeTest, EndsEachOfSeveralThatBringNothing) {
  std::vector<std::promise<void>> ended(3);
  std::vector<Transfer> transfers;
  for (std::promise<void>& one : ended) {
    transfers.push_back(budget_.begin([&one] { one.set_value(); }));
    transfers.back().wait();
  }
  Transfer finished = budget_.begin(kNever);
  finished.wait();
  EXPECT_TRUE(finished.finish().ok());
  clock_.advance(kTransferGracePeriod);
  for (std::promise<void>& one : ended) one.get_future().wait();
  for (Transfer& transfer : transfers)
    EXPECT_THAT(message(transfer.finish()), HasSubstr("no data received for 1m"));
}

TEST_F(TransferTimeTest, ATransferMayBeFinishedByWhatEndsIt) {
  // Shared, since the budget is still at it when the result is there.
  const auto ended = std::make_shared<std::promise<absl::Status>>();
  std::optional<Transfer> transfer;
  transfer.emplace(
      budget_.begin([&transfer, ended] { ended->set_value(transfer->finish()); }, kHelloGracePeriod));
  transfer->wait();
  clock_.advance(kHelloGracePeriod);  // not before the transfer is in its place
  EXPECT_TRUE(absl::IsDeadlineExceeded(ended->get_future().get()));
}

}  // namespace
}  // namespace tf::rpc
