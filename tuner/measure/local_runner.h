#pragma once
// Owns: measuring on this machine, in the same sandboxed worker as a device agent's. Does not know: the farm.

#include <memory>
#include <utility>
#include <vector>

#include "device_agent/worker/worker.h"
#include "tuner/measure/runner.h"

namespace tf::measure {

// One slot. Thread-safe; calls wait for each other.
class LocalRunner final : public Runner {
 public:
  // Starts the worker's helper process; its errors. A GPU is opened: UNAVAILABLE says what it lacks.
  static absl::StatusOr<std::unique_ptr<LocalRunner>> start(worker::WorkerOptions options);

  absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const MeasureRequest& request) override;
  int slots() const override { return 1; }
  absl::StatusOr<tunefarm::farm::v1::DeviceState> device() override;
  double peak_gflops() override;
  uint32_t gpu_units() override;
  void cancel() override { worker_->cancel(); }
  // worker::Worker::missing_layers().
  const std::vector<worker::CapabilityState>& missing_layers() const { return worker_->missing_layers(); }

 private:
  explicit LocalRunner(std::unique_ptr<worker::Worker> worker) : worker_(std::move(worker)) {}
  std::unique_ptr<worker::Worker> worker_;
};

}  // namespace tf::measure
