#include "tuner/session/scheduler.h"

#include <gtest/gtest.h>

namespace tf::session {
namespace {

TEST(NextTask, GivesEveryTaskItsFirstTrialsBeforeAnyGetsMore) {
  std::vector<TaskShare> tasks = {{.weight = 1, .seconds = 1.0}, {.weight = 1, .seconds = 1e-6}};
  for (int i = 0; i < 16; ++i) ++tasks[static_cast<size_t>(next_task(tasks))].given;
  EXPECT_EQ(tasks[0].given, 8);
  EXPECT_EQ(tasks[1].given, 8);
}

TEST(NextTask, FollowsEachTasksShareOfTheNetworksTime) {
  std::vector<TaskShare> tasks = {{.weight = 3, .seconds = 1e-3}, {.weight = 1, .seconds = 1e-3}};
  for (int i = 0; i < 400; ++i) ++tasks[static_cast<size_t>(next_task(tasks))].given;
  EXPECT_NEAR(static_cast<double>(tasks[0].given), 300, 2);
}

TEST(NextTask, ServesATaskLessOnceItHasBecomeFast) {
  std::vector<TaskShare> tasks = {{.weight = 1, .seconds = 1e-3, .given = 50},
                                  {.weight = 1, .seconds = 1e-3, .given = 50}};
  tasks[0].seconds = 1e-4;
  int64_t before = tasks[0].given;
  for (int i = 0; i < 30; ++i) ++tasks[static_cast<size_t>(next_task(tasks))].given;
  EXPECT_EQ(tasks[0].given, before) << "it has had more than its share already";
}

TEST(NextTask, LeavesOutExhaustedTasksAndEndsWhenAllAre) {
  std::vector<TaskShare> tasks = {{.seconds = 1, .exhausted = true}, {.seconds = 1}};
  EXPECT_EQ(next_task(tasks), 1);
  tasks[1].exhausted = true;
  EXPECT_EQ(next_task(tasks), -1);
}

}  // namespace
}  // namespace tf::session
