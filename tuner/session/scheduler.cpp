#include "tuner/session/scheduler.h"

#include <cstddef>

namespace tf::session {

int next_task(const std::vector<TaskShare>& tasks) {
  constexpr int64_t kFirstTrials = 8;
  int least = -1;
  double total_time = 0;
  int64_t total_given = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskShare& task = tasks[i];
    if (task.exhausted) continue;
    total_time += task.weight * task.seconds;
    total_given += task.given;
    if (task.given < kFirstTrials && (least < 0 || task.given < tasks[static_cast<size_t>(least)].given)) {
      least = static_cast<int>(i);
    }
  }
  if (least >= 0) return least;

  int owed = -1;
  double most = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const TaskShare& task = tasks[i];
    if (task.exhausted) continue;
    const double share =
        total_time > 0 ? task.weight * task.seconds / total_time : 1.0 / static_cast<double>(tasks.size());
    const double debt = share * static_cast<double>(total_given + 1) - static_cast<double>(task.given);
    if (owed < 0 || debt > most) {
      owed = static_cast<int>(i);
      most = debt;
    }
  }
  return owed;
}

}  // namespace tf::session
