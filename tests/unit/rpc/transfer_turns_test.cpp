#include "rpc/transfer/transfer_turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <type_traits>

namespace tf::rpc {
namespace {

static_assert(!std::is_constructible_v<TransferTurns::Turn, TransferTurns&, std::string>,
              "nobody has a turn that was not waited for");

class TransferTurnsTest : public testing::Test {
 protected:
  // Whether it got one, which ends at once.
  std::future<bool> another(const std::string& digest) {
    return std::async(std::launch::async,
                      [this, digest] { return turns_.wait(digest, end_.get_token()).has_value(); });
  }

  TransferTurns turns_;
  std::stop_source end_;
};

TEST_F(TransferTurnsTest, OfOneDigestComeOneAfterAnother) {
  std::optional<TransferTurns::Turn> first = turns_.wait("a", end_.get_token());
  ASSERT_TRUE(first);
  std::future<bool> second = another("a");
  EXPECT_TRUE(another("b").get()) << "of others they come beside it";
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  first.reset();
  EXPECT_TRUE(second.get());
  EXPECT_TRUE(another("a").get());
}

TEST_F(TransferTurnsTest, AreNotWaitedForOnceThatIsToEnd) {
  const std::optional<TransferTurns::Turn> first = turns_.wait("a", end_.get_token());
  ASSERT_TRUE(first);
  std::future<bool> second = another("a");
  end_.request_stop();
  EXPECT_FALSE(second.get());
  EXPECT_FALSE(another("b").get());
}

TEST_F(TransferTurnsTest, MoveWithWhoHasThem) {
  std::optional<TransferTurns::Turn> first = turns_.wait("a", end_.get_token());
  ASSERT_TRUE(first);
  {
    const TransferTurns::Turn moved = *std::move(first);
    first.reset();
    std::future<bool> second = another("a");
    EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
    end_.request_stop();
    EXPECT_FALSE(second.get());
  }
  EXPECT_TRUE(turns_.wait("a", {}));
}

}  // namespace
}  // namespace tf::rpc
