#pragma once
// Owns: what the job queue needs from something that tunes one job. Implementation: FarmExecutor. Does not
// know: queues, connections.

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "database/record.h"
#include "tuner/service/farm/farm_devices.h"
#include "tuner/service/jobs/job_spec.h"
#include "tuner/service/sharing/allotment.h"
#include "tuner/session/session.h"

namespace tf::service {

// What a run tells while it lasts. All are thread-safe.
struct RunReports {
  std::function<void(const session::Progress&)> progress;
  // The slots on which it measures, "DEVICE/SLOT", each time that they have changed.
  std::function<void(const std::vector<std::string>&)> slots;
  // What it waits for, in words for people, each time that this has changed; empty: it has what it needs.
  std::function<void(const std::string&)> waits;
};

// Thread-safe: jobs run at the same time.
class JobExecutor {
 public:
  virtual ~JobExecutor() = default;

  // Whether such a job can run at all, as far as its options tell, before anybody brings its model.
  // INVALID_ARGUMENT: no such target, strategy or selector. NOT_FOUND: no device that it asks for.
  // UNAVAILABLE: who knows the devices does not answer.
  virtual absl::Status check(const JobSpec& spec) = 0;
  // Whether its model can be tuned so, before it is accepted: the model is read.
  virtual absl::Status check_model(const database::Job& job, const JobSpec& spec) = 0;

  // Which slots such a job could use now; `person` submitted it and may have reservations (job_access.h).
  // UNAVAILABLE: the tracker does not answer.
  virtual absl::StatusOr<SlotSupply> look(const JobSpec& spec, const std::string& person) = 0;

  // Tunes on as many slots as `allotment` says, until the budget is spent, nothing is left to try, or `stop`
  // is set: then it finishes what is being measured and returns. Goes on from what the store holds of the
  // same job. UNAVAILABLE: the farm is away, to be tried again later; any other error ends the job.
  virtual absl::StatusOr<session::Progress> run(const database::Job& job, const JobSpec& spec,
                                                Allotment& allotment, const std::atomic<bool>& stop,
                                                const RunReports& reports) = 0;
};

}  // namespace tf::service
