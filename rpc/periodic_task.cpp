#include "rpc/periodic_task.h"

#include <algorithm>
#include <stop_token>
#include <utility>

namespace tf::rpc {
namespace {

// A longer one would overflow the clock that it is added to.
constexpr absl::Duration kLongestRest = absl::Hours(24);

}  // namespace

PeriodicTask::PeriodicTask(std::function<absl::Duration()> task, absl::Duration first_rest)
    : thread_([this, task = std::move(task), rest = first_rest](const std::stop_token& end) mutable {
        std::unique_lock lock(mutex_);
        while (true) {
          changed_.wait_for(lock, end, absl::ToChronoMicroseconds(std::min(rest, kLongestRest)),
                            [this] { return woken_; });
          if (end.stop_requested()) return;
          woken_ = false;
          lock.unlock();
          rest = task();
          lock.lock();
        }
      }) {}

void PeriodicTask::wake() {
  const std::scoped_lock lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void PeriodicTask::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tf::rpc
