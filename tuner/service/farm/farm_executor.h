#pragma once
// Owns: tuning a job on the devices of a farm: its tasks, builders and leased runner, around session::tune.
// Does not know: queues, who asked.

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/driver/builder.h"
#include "database/store.h"
#include "rpc/connection/endpoint.h"
#include "rpc/identity/credentials.h"
#include "tuner/measure/counted_runner.h"
#include "tuner/measure/shared_builder.h"
#include "tuner/service/jobs/job_executor.h"

namespace tf::service {

struct FarmExecutorOptions {
  rpc::Endpoint tracker;
  std::shared_ptr<rpc::Credentials> credentials;  // null: plain text
  std::string holder;                             // who leases: the same after a restart
  uint64_t run_number = 0;                        // which run of it
  measure::TrialTally* tally = nullptr;           // counts the trials of all jobs; null: nobody does
};

class FarmExecutor final : public JobExecutor {
 public:
  // The builder (shared by all jobs) and the store must outlive it.
  FarmExecutor(FarmExecutorOptions options, driver::Builder& builder, database::Store& store)
      : options_(std::move(options)), builder_(builder), store_(store) {}

  // Also asks the tracker whether a device with the key has ever registered that runs code for the job's
  // target: NOT_FOUND names the keys that have, or what is missing. UNAVAILABLE: no tracker answers.
  absl::Status check(const JobSpec& spec) override;
  absl::Status check_model(const database::Job& job, const JobSpec& spec) override;
  absl::StatusOr<SlotSupply> look(const JobSpec& spec, const std::string& person) override;
  absl::StatusOr<session::Progress> run(const database::Job& job, const JobSpec& spec, Allotment& allotment,
                                        const std::atomic<bool>& stop, const RunReports& reports) override;

 private:
  absl::Status set_references(const JobSpec& spec, session::SessionOptions& options) const;
  struct Asked {
    const database::Job& job;
    const JobSpec& spec;
  };
  // The first slot is leased when it returns.
  absl::StatusOr<std::unique_ptr<measure::FleetRunner>> lease(const Asked& asked, const DeviceNeeds& needs,
                                                              const measure::FleetTarget& target,
                                                              const RunReports& reports) const;

  const FarmExecutorOptions options_;
  measure::SharedBuilder builder_;  // a job that ends must not end the others' builds
  database::Store& store_;
};

}  // namespace tf::service
