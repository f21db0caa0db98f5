#include "device_agent/agent/trials/worker_executor.h"

#include <utility>

#include "base/status.h"
#include "device_agent/worker/worker.h"
#include "proto/farm/v1/trial.pb.h"

namespace tf::agent {

absl::Status WorkerExecutor::begin_lease(std::string_view lease_id) {
  const std::scoped_lock lock(lease_mutex_);
  if (lease_id_ == lease_id) return absl::OkStatus();
  if (!lease_id_.empty()) TF_RETURN_IF_ERROR(worker_.renew_sandbox());
  lease_id_ = lease_id;
  return absl::OkStatus();
}

absl::StatusOr<tunefarm::farm::v1::TrialResult> WorkerExecutor::run(const tunefarm::farm::v1::Trial& trial,
                                                                    std::string_view candidate,
                                                                    std::string_view reference,
                                                                    std::stop_token end) {
  return worker_.run(trial, candidate, reference, std::move(end));
}

size_t WorkerExecutor::trials_at_once() const {
  return worker_.trials_at_once();
}

bool WorkerExecutor::has_reference(std::string_view reference_digest, uint64_t input_seed) const {
  return worker_.has_reference(reference_digest, input_seed);
}

}  // namespace tf::agent
