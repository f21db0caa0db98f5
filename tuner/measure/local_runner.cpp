#include "tuner/measure/local_runner.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::measure {

namespace farm = tunefarm::farm::v1;

absl::StatusOr<std::unique_ptr<LocalRunner>> LocalRunner::start(worker::WorkerOptions options) {
  const bool on_gpu = options.device != "cpu";
  TF_ASSIGN_OR_RETURN(std::unique_ptr<worker::Worker> worker, worker::Worker::start(std::move(options)));
  if (on_gpu) TF_RETURN_IF_ERROR(worker->peak_gflops().status());
  return std::unique_ptr<LocalRunner>(new LocalRunner(std::move(worker)));
}

absl::StatusOr<farm::TrialResult> LocalRunner::run(const MeasureRequest& request) {
  TF_CHECK(request.trial != nullptr && request.candidate.bytes != nullptr);
  farm::Trial trial = *request.trial;
  trial.set_artifact_digest(request.candidate.digest);
  trial.set_reference_digest(request.reference.digest);
  return worker_->run(trial, *request.candidate.bytes,
                      request.reference.bytes ? *request.reference.bytes : std::string());
}

absl::StatusOr<farm::DeviceState> LocalRunner::device() {
  return worker_->device_state();
}

double LocalRunner::peak_gflops() {
  return worker_->peak_gflops().value_or(0);
}

uint32_t LocalRunner::gpu_units() {
  const std::optional<worker::GpuDevice> gpu = worker_->gpu();
  return gpu ? gpu->units : 0;
}

}  // namespace tf::measure
