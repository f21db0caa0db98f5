#pragma once
// Owns: a Runner that counts what goes through another one. Does not know: who reads the counts.

#include <atomic>
#include <cstdint>
#include <vector>

#include "rpc/metrics/metric.h"
#include "tuner/measure/runner.h"

namespace tf::measure {

// Of all trials of this process. Thread-safe.
class TrialTally {
 public:
  std::vector<rpc::MetricFamily> families() const;

 private:
  friend class CountedRunner;
  rpc::WorkTally trials_;
  std::atomic<uint64_t> durable_ = 0;
};

class CountedRunner final : public Runner {
 public:
  // Both must outlive it.
  CountedRunner(Runner& runner, TrialTally& tally) : runner_(runner), tally_(tally) {}

  absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const MeasureRequest& request) override;
  void acknowledge(const tunefarm::farm::v1::TrialResult& result) override;
  int slots() const override { return runner_.slots(); }
  absl::StatusOr<tunefarm::farm::v1::DeviceState> device() override;
  double peak_gflops() override { return runner_.peak_gflops(); }
  uint32_t gpu_units() override { return runner_.gpu_units(); }
  void cancel() override { runner_.cancel(); }

 private:
  Runner& runner_;
  TrialTally& tally_;
};

}  // namespace tf::measure
