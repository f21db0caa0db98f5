#pragma once
// Owns: a TrialExecutor that counts what goes through another one, and logs what the device could not run.
// Does not know: who reads either.

#include <mutex>
#include <string>

#include "device_agent/agent/trials/executor.h"
#include "rpc/metrics/metric.h"

namespace tf::agent {

class CountedExecutor final : public TrialExecutor {
 public:
  // Both must outlive it; executors may share the tally.
  CountedExecutor(TrialExecutor& executor, rpc::WorkTally& tally) : executor_(executor), tally_(tally) {}
  absl::Status begin_lease(std::string_view lease_id) override { return executor_.begin_lease(lease_id); }
  absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const tunefarm::farm::v1::Trial& trial,
                                                      std::string_view candidate, std::string_view reference,
                                                      std::stop_token end) override;
  size_t trials_at_once() const override { return executor_.trials_at_once(); }
  bool has_reference(std::string_view reference_digest, uint64_t input_seed) const override {
    return executor_.has_reference(reference_digest, input_seed);
  }

 private:
  void log_trouble(const absl::Status& status);

  TrialExecutor& executor_;
  rpc::WorkTally& tally_;
  std::mutex told_mutex_;
  std::string told_;  // why the last trial was not run; empty: it was, or the reason was the trial itself
};

}  // namespace tf::agent
