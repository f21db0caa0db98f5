#include "tuner/measure/retrying_runner.h"

#include "absl/time/time.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::measure {
namespace {

bool may_get_better(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

}  // namespace

absl::StatusOr<tunefarm::farm::v1::TrialResult> RetryingRunner::run(const MeasureRequest& request) {
  rpc::Backoff backoff(rpc::backoff_seed(), options_.backoff);
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<tunefarm::farm::v1::TrialResult> result = runner_.run(request);
    if (result.ok() || attempt >= options_.attempts || !may_get_better(result.status())) return result;
    if (!wait(backoff.next())) return absl::CancelledError("measuring was cancelled");
  }
}

absl::StatusOr<tunefarm::farm::v1::DeviceState> RetryingRunner::device() {
  return runner_.device();
}

void RetryingRunner::cancel() {
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  changed_.notify_all();
  runner_.cancel();
}

bool RetryingRunner::wait(absl::Duration delay) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, absl::ToChronoNanoseconds(delay), [this] { return cancelled_; });
}

}  // namespace tf::measure
