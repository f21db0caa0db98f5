#pragma once
// Owns: trying again when a trial could not be measured, as a decorator. What a candidate did is never tried
// again.

#include <condition_variable>
#include <mutex>

#include "rpc/backoff.h"
#include "tuner/measure/runner.h"

namespace tf::measure {

struct RetryOptions {
  int attempts = 3;  // in all
  rpc::BackoffOptions backoff;
};

// Thread-safe if the decorated runner is.
class RetryingRunner final : public Runner {
 public:
  // `runner` is borrowed.
  RetryingRunner(Runner& runner, RetryOptions options) : runner_(runner), options_(options) {}

  // Tries UNAVAILABLE, ABORTED, DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED again; returns the last status.
  absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const MeasureRequest& request) override;
  void acknowledge(const tunefarm::farm::v1::TrialResult& result) override { runner_.acknowledge(result); }
  int slots() const override { return runner_.slots(); }
  absl::StatusOr<tunefarm::farm::v1::DeviceState> device() override;
  double peak_gflops() override { return runner_.peak_gflops(); }
  void cancel() override;

 private:
  // False if cancelled meanwhile.
  bool wait(absl::Duration delay);

  Runner& runner_;
  const RetryOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ = false;
};

}  // namespace tf::measure
