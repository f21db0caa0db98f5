#pragma once
// Owns: what a job drafts by from its first run to its last, as its database keeps it. Does not know: how
// rates are measured, what is made of them.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "database/store.h"
#include "tuner/model/measured_rates.h"

namespace tf::session {

// Nothing of a job that keeps none: of none at all (0), a new one, one that an older program began. Errors:
// the store's, also of rates that no core reaches.
absl::StatusOr<std::optional<model::MeasuredRates>> rates_of_job(database::Store& store, int64_t job_id);

// Once and for all: what the job has already stays.
absl::Status keep_rates(database::Store& store, int64_t job_id, const model::MeasuredRates& rates);

}  // namespace tf::session
