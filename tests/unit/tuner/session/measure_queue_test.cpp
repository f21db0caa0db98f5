#include "tuner/session/loop/measure_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace tf::session {
namespace {

TEST(MeasureQueue, GivesEachAtOnceWhereNobodyTakesTurns) {
  MeasureQueue<int> queue({});
  queue.expect();
  queue.expect();
  queue.push(7);
  EXPECT_EQ(queue.pop(), 7) << "although another is being built";
}

TEST(MeasureQueue, CollectsABurstThenMeasuresAllOfItWhileBuildingIsHeldUp) {
  std::atomic<int> paused = 0, resumed = 0;
  MeasureQueue<int> queue({.burst = 2, .pause = [&] { ++paused; }, .resume = [&] { ++resumed; }});
  for (int i = 0; i < 5; ++i) queue.expect();
  queue.push(1);
  std::future<std::optional<int>> first = std::async(std::launch::async, [&] { return queue.pop(); });
  EXPECT_EQ(first.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_EQ(paused, 0);
  queue.push(2);
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(paused, 1);
  queue.push(3);  // was almost ready when the turn began
  queue.done(0);
  EXPECT_EQ(queue.pop(), 2);
  queue.done(0);
  EXPECT_EQ(queue.pop(), 3) << "one alone, but the turn goes on";
  EXPECT_EQ(resumed, 0);
  queue.done(0);
  EXPECT_EQ(resumed, 1);
  EXPECT_EQ(paused, 1);
}

TEST(MeasureQueue, GivesFirstWhoIsToGoFirstByThen) {
  struct ByPlace {
    bool operator()(const int* a, const int* b) const { return *a < *b; }
  };
  int first = 1, second = 2, third = 2;
  MeasureQueue<const int*, ByPlace> queue({});
  for (const int* each : {&first, &second, &third}) {
    queue.expect();
    queue.push(each);
  }
  first = 3;
  for (const int* each : {&second, &third, &first}) {
    EXPECT_EQ(queue.pop(), each);
    queue.done(nullptr);
  }
}

TEST(MeasureQueue, DoesNotWaitForABurstThatWillNotCome) {
  MeasureQueue<int> queue({.burst = 6});
  queue.expect();
  queue.expect();
  queue.push(1);
  std::future<std::optional<int>> first = std::async(std::launch::async, [&] { return queue.pop(); });
  EXPECT_EQ(first.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  queue.drop();
  EXPECT_EQ(first.get(), 1);
}

TEST(MeasureQueue, LetsBuildingGoOnWhenItCloses) {
  int resumed = 0;
  MeasureQueue<int> queue({.burst = 1, .pause = [] {}, .resume = [&] { ++resumed; }});
  for (int i = 0; i < 2; ++i) queue.expect();
  queue.push(1);
  queue.push(2);
  ASSERT_EQ(queue.pop(), 1);
  queue.close();
  EXPECT_EQ(resumed, 0) << "one is still being measured";
  queue.done(0);
  EXPECT_EQ(resumed, 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

// Values of one bench are for one device: more than that has room for would only hold up the others.
TEST(MeasureQueue, TakesNoMoreOfABenchThanItsDeviceHasRoomFor) {
  MeasureQueue<int> queue({.most_of_bench = 2}, [](int value) { return static_cast<uint64_t>(value / 10); });
  for (const int value : {11, 12, 13, 21, 5}) {
    queue.expect();
    queue.push(value);
  }
  EXPECT_EQ(queue.pop(), 11);
  EXPECT_EQ(queue.pop(), 12);
  EXPECT_EQ(queue.pop(), 21);
  EXPECT_EQ(queue.pop(), 5);
  queue.done(12);
  EXPECT_EQ(queue.pop(), 13);
}

TEST(MeasureQueue, FollowsHowManyMayBeMeasuredAtOnce) {
  std::atomic<int> most{1};
  MeasureQueue<int> queue({.most = [&] { return most.load(); }});
  for (const int value : {1, 2}) {
    queue.expect();
    queue.push(value);
  }
  EXPECT_EQ(queue.pop(), 1);
  std::thread more([&] {
    most = 2;
    queue.look_again();
  });
  EXPECT_EQ(queue.pop(), 2);
  more.join();
}

}  // namespace
}  // namespace tf::session
