#include "tuner/session/measure_queue.h"

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
  queue.done();
  EXPECT_EQ(queue.pop(), 2);
  queue.done();
  EXPECT_EQ(queue.pop(), 3) << "one alone, but the turn goes on";
  EXPECT_EQ(resumed, 0);
  queue.done();
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
    queue.done();
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
  queue.done();
  EXPECT_EQ(resumed, 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

}  // namespace
}  // namespace tf::session
