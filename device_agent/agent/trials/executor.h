#pragma once
// Owns: what the sync loop needs from something that runs a trial on this machine. Implementation: the
// sandboxed worker (worker_executor.h). Does not know: leases, the tracker.

#include <cstdint>
#include <stop_token>
#include <string_view>

#include "absl/status/statusor.h"

namespace tunefarm::farm::v1 {
class Trial;
class TrialResult;
}  // namespace tunefarm::farm::v1

namespace tf::agent {

// One slot; trials_at_once() threads call it. Trials of two leases never overlap.
class TrialExecutor {
 public:
  virtual ~TrialExecutor() = default;
  // The trials that follow are of this lease. Of one before it nothing is left that a candidate could find.
  // Errors as run().
  virtual absl::Status begin_lease(std::string_view lease_id) = 0;
  // Serialized kernel.v1.Artifact messages, verified against the trial's digests. `reference` is empty if the
  // trial names none or has_reference said that it is not needed. When `end` comes, it kills what runs and
  // returns soon. A status means "not measured": INVALID_ARGUMENT and FAILED_PRECONDITION will not get
  // better, any other may. `printed` of the result is at most worker::kMostPrintedBytes long.
  virtual absl::StatusOr<tunefarm::farm::v1::TrialResult> run(const tunefarm::farm::v1::Trial& trial,
                                                              std::string_view candidate,
                                                              std::string_view reference,
                                                              std::stop_token end) = 0;
  virtual size_t trials_at_once() const { return 1; }
  virtual bool has_reference(std::string_view reference_digest, uint64_t input_seed) const = 0;
};

}  // namespace tf::agent
