#include "rpc/stall_watch.h"

#include <atomic>
#include <future>
#include <optional>
#include <thread>

namespace tf::rpc {
namespace {

TEST(StallWatch, EndsAReadThatBringsNothing) {
  StallWatch watch(absl::Milliseconds(20));
  std::promise<void> ended;
  const auto came = watch.read(
      [&] {
        ended.get_future().wait();
        return false;
      },
      [&] { ended.set_value(); });
  EXPECT_TRUE(absl::IsDeadlineExceeded(came.status())) << came.status();
  EXPECT_THAT(std::string(came.status().message()), testing::HasSubstr("nothing came for 20ms"));
}

TEST(StallWatch, PassesOnWhatComesInTime) {
  StallWatch watch(absl::Minutes(1));
  const auto never = [] { ADD_FAILURE() << "it came in time"; };
  EXPECT_TRUE(*watch.read([] { return true; }, never));
  EXPECT_FALSE(*watch.read([] { return false; }, never));
}

TEST(StallWatch, CountsEachWaitFromItsBeginning) {
  StallWatch watch(absl::Seconds(1));
  for (int i = 0; i < 12; ++i) {  // longer than that together
    const auto came = watch.read(
        [] {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          return true;
        },
        [] {});
    EXPECT_TRUE(came.ok()) << came.status();
  }
}

TEST(StallWatch, EndsEachOfSeveralThatWait) {
  StallWatch watch(absl::Milliseconds(20));
  std::atomic<int> ended = 0;
  std::promise<void> all;
  std::vector<StallWatch::Wait> waits;
  auto finished = watch.begin([] { ADD_FAILURE() << "it was finished before"; });
  EXPECT_FALSE(finished.finish());
  for (int i = 0; i < 3; ++i) {
    waits.push_back(watch.begin([&] {
      if (++ended == 3) all.set_value();
    }));
  }
  all.get_future().wait();
  for (StallWatch::Wait& wait : waits) EXPECT_TRUE(wait.finish());
}

TEST(StallWatch, AWaitMayBeFinishedByWhatEndsIt) {
  StallWatch watch(absl::Milliseconds(100));
  std::optional<StallWatch::Wait> wait;
  std::promise<bool> ended;
  wait.emplace(watch.begin([&] { ended.set_value(wait->finish()); }));
  EXPECT_TRUE(ended.get_future().get());
}

}  // namespace
}  // namespace tf::rpc
