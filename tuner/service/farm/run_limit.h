#pragma once
// Owns: how long trials may keep a job that has to end: a trial whose device stays away never ends by itself.
// Does not know: sessions, farms.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "absl/time/time.h"
#include "tuner/measure/runner.h"

namespace tf::service {

struct RunLimits {
  absl::Duration budget = absl::InfiniteDuration();  // of time with a device, from now on
  absl::Duration budget_grace = absl::Seconds(60);   // after it, for what is being measured
  // Without a device in one go. Time without one counts for no budget, but a device may never come back.
  absl::Duration longest_absence = absl::InfiniteDuration();
  absl::Duration drain_grace = absl::Seconds(30);  // after a stop, for what is being measured
};

// Of a job with so many minutes: what they allow, and ten minutes without a device, or as long as the budget
// where that is longer. Of a job without a limit (0): nothing ends it.
RunLimits limits_of_minutes(double minutes);

// Cancels the runner, from its own thread, when a stop or the end of the budget has not been obeyed for the
// grace it has, or when no device was there for too long. A runner without slots has no device. `stop` and
// `runner` must outlive it.
class RunLimit {
 public:
  RunLimit(const std::atomic<bool>& stop, measure::Runner& runner, const RunLimits& limits);

  // The runner was cancelled, and not because of a stop.
  bool ended_by_budget() const { return ended_by_budget_; }

 private:
  void watch(const std::stop_token& over, const std::atomic<bool>& stop, measure::Runner& runner,
             const RunLimits& limits);

  std::atomic<bool> ended_by_budget_ = false;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace tf::service
