#pragma once
// Owns: the TrialExecutor that is the sandboxed worker. Does not know: the sync loop.

#include <mutex>
#include <string>

#include "device_agent/agent/trials/executor.h"

namespace tf::worker {
class Worker;
}

namespace tf::agent {

class WorkerExecutor final : public TrialExecutor {
 public:
  // The worker must outlive the executor.
  explicit WorkerExecutor(worker::Worker& worker) : worker_(worker) {}
  // Renews the worker's sandbox where candidates of another lease have been in it.
  absl::Status begin_lease(std::string_view lease_id) override;
  absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const tunefarm::farm::v1::Trial& trial,
                                                      std::string_view candidate, std::string_view reference,
                                                      std::stop_token end) override;
  size_t trials_at_once() const override;
  bool has_reference(std::string_view reference_digest, uint64_t input_seed) const override;

 private:
  worker::Worker& worker_;
  std::mutex lease_mutex_;
  std::string lease_id_;  // of the candidates that have been in the sandbox; empty: none
};

}  // namespace tf::agent
