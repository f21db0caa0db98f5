#include "rpc/usage_ledger.h"

#include <numbers>

#include "tests/support/fake_clock.h"

namespace tf::rpc {
namespace {

class UsageLedgerTest : public testing::Test {
 protected:
  FakeClock clock_;
  UsageLedger ledger_{clock_, absl::Seconds(600)};
};

TEST_F(UsageLedgerTest, CountsTheSecondsOfAShortWhileInFull) {
  ledger_.begin("a");
  ledger_.begin("a");
  clock_.advance(absl::Seconds(1));
  EXPECT_NEAR(ledger_.held_seconds("a"), 2, 0.01);
  EXPECT_EQ(ledger_.held("a"), 2u);
  EXPECT_EQ(ledger_.held_seconds("b"), 0);
}

TEST_F(UsageLedgerTest, HalvesWhatWasHeldAHalfLifeAgo) {
  ledger_.begin("a");
  clock_.advance(absl::Seconds(100));
  ledger_.end("a");
  const double then = ledger_.held_seconds("a");
  clock_.advance(absl::Seconds(600));
  EXPECT_NEAR(ledger_.held_seconds("a"), then / 2, 1e-9);
}

TEST_F(UsageLedgerTest, DoesNotDependOnHowOftenItIsAsked) {
  UsageLedger other(clock_, absl::Seconds(600));
  ledger_.begin("a");
  other.begin("a");
  for (int i = 0; i < 100; ++i) {
    clock_.advance(absl::Seconds(7));
    other.begin("a");
    other.end("a");
  }
  EXPECT_NEAR(ledger_.held_seconds("a"), other.held_seconds("a"), 1e-6);
}

TEST_F(UsageLedgerTest, TendsToALimit) {
  ledger_.begin("a");
  clock_.advance(absl::Hours(100));
  EXPECT_NEAR(ledger_.held_seconds("a"), 600 / std::numbers::ln2, 1e-6);
}

TEST_F(UsageLedgerTest, ForgetsUsersThatHaveBecomeIndifferent) {
  ledger_.begin("a");
  clock_.advance(absl::Seconds(100));
  ledger_.end("a");
  clock_.advance(absl::Hours(3));
  ledger_.begin("b");
  ledger_.end("b");
  EXPECT_TRUE(ledger_.accounts().empty());
}

TEST_F(UsageLedgerTest, ChargesForWhatIsHeldBeforeAnyTimeHasPassed) {
  ledger_.begin("a");
  ledger_.begin("a");
  EXPECT_EQ(ledger_.cost("a"), 2 * UsageLedger::kChargeForEach);
  EXPECT_EQ(ledger_.cost("b"), 0);
  clock_.advance(absl::Seconds(10));
  ledger_.end("a");
  ledger_.end("a");
  EXPECT_EQ(ledger_.cost("a"), ledger_.held_seconds("a"));
}

}  // namespace
}  // namespace tf::rpc
