#include "device_agent/agent/slots/exclusive_execution.h"

namespace tf::agent {

bool ExclusiveExecution::begin_trial(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, end, [this] { return goldens_ == 0; })) return false;
  ++trials_;
  return true;
}

void ExclusiveExecution::end_trial() {
  const std::scoped_lock lock(mutex_);
  --trials_;
  changed_.notify_all();
}

bool ExclusiveExecution::begin_golden(const GracePeriod& grace_period, const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  ++goldens_;
  if (changed_.wait(lock, end, [this] { return !golden_; })) {
    golden_ = true;
    if (wait_for_trials(lock, grace_period, end)) return true;
    golden_ = false;
  }
  --goldens_;
  changed_.notify_all();
  return false;
}

bool ExclusiveExecution::wait_for_trials(std::unique_lock<std::mutex>& lock, const GracePeriod& grace_period,
                                         const std::stop_token& end) {
  const auto are_over = [this] { return trials_ == 0; };
  if (are_over()) return true;
  if (grace_period.most <= absl::ZeroDuration() || rpc::real_clock().now() < grace_from_) return false;
  if (changed_.wait_for(lock, end, absl::ToChronoNanoseconds(grace_period.most), are_over)) return true;
  if (!end.stop_requested()) grace_from_ = rpc::real_clock().now() + grace_period.again_after;
  return false;
}

void ExclusiveExecution::end_golden() {
  const std::scoped_lock lock(mutex_);
  golden_ = false;
  --goldens_;
  changed_.notify_all();
}

}  // namespace tf::agent
