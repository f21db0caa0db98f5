#include "rpc/periodic_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <semaphore>

namespace tf::rpc {
namespace {

TEST(PeriodicTask, IsDoneAtOnceAndAgainAfterEachRest) {
  std::counting_semaphore done(0);
  PeriodicTask task([&] {
    done.release();
    return absl::Milliseconds(1);
  });
  for (int i = 0; i < 3; ++i) done.acquire();
}

TEST(PeriodicTask, AnInfiniteRestLastsUntilItIsWoken) {
  std::atomic<int> count = 0;
  std::counting_semaphore done(0);
  PeriodicTask task(
      [&] {
        ++count;
        done.release();
        return absl::InfiniteDuration();
      },
      absl::InfiniteDuration());
  EXPECT_FALSE(done.try_acquire_for(std::chrono::milliseconds(20)));
  task.wake();
  done.acquire();
  EXPECT_FALSE(done.try_acquire_for(std::chrono::milliseconds(20)));
  task.wake();
  done.acquire();
  EXPECT_EQ(count, 2);
}

TEST(PeriodicTask, OneThatIsWokenWhileItIsDoneIsDoneAgain) {
  std::counting_semaphore begun(0), go(0);
  PeriodicTask task([&] {
    begun.release();
    go.acquire();
    return absl::InfiniteDuration();
  });
  begun.acquire();
  task.wake();
  go.release();
  begun.acquire();
  go.release();
}

TEST(PeriodicTask, ItsEndWaitsForTheTaskUnderWay) {
  std::atomic<int> count = 0;
  std::promise<void> begun;
  {
    PeriodicTask task([&] {
      if (++count == 1) begun.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++count;
      return absl::InfiniteDuration();
    });
    begun.get_future().wait();
  }
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace tf::rpc
