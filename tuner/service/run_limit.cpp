#include "tuner/service/run_limit.h"

#include <chrono>

#include "absl/time/clock.h"

namespace tf::service {

RunLimit::RunLimit(const std::atomic<bool>& stop, measure::Runner& runner, const RunLimits& limits)
    : thread_([this, &stop, &runner, limits] { watch(stop, runner, limits); }) {}

RunLimit::~RunLimit() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RunLimit::watch(const std::atomic<bool>& stop, measure::Runner& runner, const RunLimits& limits) {
  const absl::Time budget_end = absl::Now() + limits.budget + limits.budget_grace;
  absl::Time drain_end = absl::InfiniteFuture();
  std::unique_lock lock(mutex_);
  while (!over_) {
    const absl::Time now = absl::Now();
    if (stop && drain_end == absl::InfiniteFuture()) drain_end = now + limits.drain_grace;
    if (now >= drain_end || now >= budget_end) {
      ended_by_budget_ = !stop;
      return runner.cancel();
    }
    changed_.wait_for(lock, std::chrono::milliseconds(200));
  }
}

}  // namespace tf::service
