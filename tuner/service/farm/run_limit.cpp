#include "tuner/service/farm/run_limit.h"

#include <algorithm>
#include <chrono>

#include "rpc/clock.h"

namespace tf::service {
namespace {

constexpr absl::Duration kLongestAbsence = absl::Minutes(10);

}  // namespace

RunLimits limits_of_minutes(double minutes) {
  if (minutes <= 0) return {};
  const absl::Duration budget = absl::Minutes(minutes);
  return {.budget = budget, .longest_absence = std::max(budget, kLongestAbsence)};
}

RunLimit::RunLimit(const std::atomic<bool>& stop, measure::Runner& runner, const RunLimits& limits)
    : thread_([this, &stop, &runner, limits](const std::stop_token& over) {
        watch(over, stop, runner, limits);
      }) {}

void RunLimit::watch(const std::stop_token& over, const std::atomic<bool>& stop, measure::Runner& runner,
                     const RunLimits& limits) {
  absl::Duration left = limits.budget + limits.budget_grace;
  rpc::Instant looked = rpc::real_clock().now(), last_device = looked;
  rpc::Instant drain_end = absl::InfiniteDuration();
  std::unique_lock lock(mutex_);
  while (!over.stop_requested()) {
    const rpc::Instant now = rpc::real_clock().now();
    if (runner.slots() > 0) {
      left -= now - looked;
      last_device = now;
    }
    looked = now;
    if (stop && drain_end == absl::InfiniteDuration()) drain_end = now + limits.drain_grace;
    const bool is_over = left <= absl::ZeroDuration() || now - last_device >= limits.longest_absence;
    if (is_over || now >= drain_end) {
      ended_by_budget_ = !stop;
      return runner.cancel();
    }
    changed_.wait_for(lock, over, std::chrono::milliseconds(200), [] { return false; });
  }
}

}  // namespace tf::service
