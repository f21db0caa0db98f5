#include "rpc/stall_watch.h"

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace tf::rpc {
namespace {

class StallWatchTest : public testing::Test {
 protected:
  // What a peer that sends nothing looks like: the read goes on until it is ended, which the clock brings.
  absl::StatusOr<bool> read_nothing() {
    std::promise<void> ended;
    return watch_.read(
        [&] {
          clock_.advance(kTransferGracePeriod);
          ended.get_future().wait();
          return false;
        },
        [&] { ended.set_value(); });
  }

  FakeClock clock_;
  StallWatch watch_{clock_};
};

const auto kNever = [] { ADD_FAILURE() << "it came in time"; };

TEST_F(StallWatchTest, EndsAReadThatBringsNothing) {
  const auto came = read_nothing();
  EXPECT_TRUE(absl::IsDeadlineExceeded(came.status())) << came.status();
  EXPECT_THAT(std::string(came.status().message()), testing::HasSubstr("no data received for 1m"));
}

TEST_F(StallWatchTest, PassesOnWhatComesInTime) {
  EXPECT_TRUE(*watch_.read([] { return true; }, kNever));
  EXPECT_FALSE(*watch_.read([] { return false; }, kNever));
}

TEST_F(StallWatchTest, CountsEachWaitFromItsBeginning) {
  std::promise<void> ended;
  auto first = watch_.begin([&] { ended.set_value(); });
  clock_.advance(kTransferGracePeriod / 2);
  auto later = watch_.begin(kNever);
  clock_.advance(kTransferGracePeriod / 2);
  ended.get_future().wait();
  EXPECT_TRUE(first.finish());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // in which the watch looks at the later one
  EXPECT_FALSE(later.finish());
}

TEST_F(StallWatchTest, EndsEachOfSeveralThatWait) {
  std::atomic<int> ended = 0;
  std::promise<void> all;
  auto finished = watch_.begin([] { ADD_FAILURE() << "it was finished before"; });
  EXPECT_FALSE(finished.finish());
  std::vector<StallWatch::Wait> waits;
  for (int i = 0; i < 3; ++i) {
    waits.push_back(watch_.begin([&] {
      if (++ended == 3) all.set_value();
    }));
  }
  clock_.advance(kTransferGracePeriod);
  all.get_future().wait();
  for (StallWatch::Wait& wait : waits) EXPECT_TRUE(wait.finish());
}

TEST_F(StallWatchTest, AWaitMayBeFinishedByWhatEndsIt) {
  // Shared, since the watch is still at it when the result is there.
  const auto ended = std::make_shared<std::promise<bool>>();
  std::optional<StallWatch::Wait> wait;
  wait.emplace(watch_.begin([&wait, ended] { ended->set_value(wait->finish()); }));
  clock_.advance(kTransferGracePeriod);  // not before the wait is in its place
  EXPECT_TRUE(ended->get_future().get());
}

}  // namespace
}  // namespace tf::rpc
