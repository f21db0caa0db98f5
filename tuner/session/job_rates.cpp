#include "tuner/session/job_rates.h"

#include "base/status.h"

namespace tf::session {
namespace {

struct KeptRate {
  std::optional<double> database::JobRates::*kept;
  double model::MeasuredRates::*measured;
};
constexpr KeptRate kRates[] = {
    {&database::JobRates::flops_per_s, &model::MeasuredRates::flops_per_s},
    {&database::JobRates::l2_bytes_per_s, &model::MeasuredRates::l2_bytes_per_s},
    {&database::JobRates::shared_bytes_per_s, &model::MeasuredRates::shared_bytes_per_s},
    {&database::JobRates::memory_bytes_per_s, &model::MeasuredRates::memory_bytes_per_s},
};

}  // namespace

absl::StatusOr<std::optional<FirstMachine>> first_machine(database::Store& store, int64_t job_id) {
  if (job_id == 0) return std::nullopt;
  TF_ASSIGN_OR_RETURN(const std::optional<database::JobRates> kept, store.job_rates(job_id));
  if (!kept) return std::nullopt;
  FirstMachine machine{.fingerprint = kept->fingerprint};
  for (const auto& [of_job, measured] : kRates) machine.rates.*measured = ((*kept).*of_job).value_or(0);
  return machine;
}

absl::Status keep_first_machine(database::Store& store, int64_t job_id, const FirstMachine& machine) {
  if (job_id == 0) return absl::OkStatus();
  database::JobRates kept{.job_id = job_id, .fingerprint = machine.fingerprint};
  for (const auto& [of_job, measured] : kRates)
    if (machine.rates.*measured > 0) kept.*of_job = machine.rates.*measured;
  return store.save_job_rates(kept);
}

}  // namespace tf::session
