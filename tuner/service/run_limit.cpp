#include "tuner/service/run_limit.h"

#include <chrono>

#include "rpc/clock.h"

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
  const rpc::Instant budget_end = rpc::real_clock().now() + limits.budget + limits.budget_grace;
  rpc::Instant drain_end = absl::InfiniteDuration();
  std::unique_lock lock(mutex_);
  while (!over_) {
    const rpc::Instant now = rpc::real_clock().now();
    if (stop && drain_end == absl::InfiniteDuration()) drain_end = now + limits.drain_grace;
    if (now >= drain_end || now >= budget_end) {
      ended_by_budget_ = !stop;
      return runner.cancel();
    }
    changed_.wait_for(lock, std::chrono::milliseconds(200));
  }
}

}  // namespace tf::service
