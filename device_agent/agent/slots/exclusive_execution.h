#pragma once
// Owns: what computes on one machine at a time: trials, on any slot of any of its devices beside each other,
// or the golden kernel, alone: clock and memory are shared, so that beside a trial it would say how busy the
// machine is and not how well. Does not know: slots, what either does.

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "absl/time/time.h"
#include "rpc/clock.h"

namespace tf::agent {

// For how long the trials that run may keep a golden kernel waiting, while none begins.
struct GracePeriod {
  absl::Duration most = absl::ZeroDuration();
  // When they took longer, for so long nobody's grace period holds trials back: the machine has work to do.
  absl::Duration again_after = absl::ZeroDuration();
};

// One for each machine, whatever devices it offers. Thread-safe.
class ExclusiveExecution {
 public:
  // Waits while a golden kernel runs, or waits for its turn. False: `end` came first, and there is nothing to
  // end.
  bool begin_trial(const std::stop_token& end);
  void end_trial();

  // Waits for its turn among the golden kernels, which follow each other with no trial between, then for the
  // trials that run. False: they outlasted the grace period, or `end` came first, and there is nothing to
  // end.
  bool begin_golden(const GracePeriod& grace_period, const std::stop_token& end);
  void end_golden();

 private:
  // With mutex_ held; whether the trials have ended.
  bool wait_for_trials(std::unique_lock<std::mutex>& lock, const GracePeriod& grace_period,
                       const std::stop_token& end);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  int trials_ = 0;
  int goldens_ = 0;      // that have the turn or wait for it
  bool golden_ = false;  // one has the turn: it runs, or waits for the trials to end
  rpc::Instant grace_from_ = -absl::InfiniteDuration();
};

}  // namespace tf::agent
