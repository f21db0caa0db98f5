#pragma once
// Owns: where a job looks from and what its roofline model goes by, from its first run to its last, as its
// database keeps it. Does not know: how rates are measured, what is made of them.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "database/store.h"
#include "tuner/model/measured_rates.h"

namespace tf::session {

// The machine on which a job began: what was measured on it is from here, wherever the job goes on.
struct FirstMachine {
  std::string fingerprint;
  model::MeasuredRates rates = {};
};

// Nothing of a job that keeps none: of none at all (0), a new one, one that an older program began. Errors:
// the store's, also of rates that no core reaches.
absl::StatusOr<std::optional<FirstMachine>> first_machine(database::Store& store, int64_t job_id);

// Once and for all: what the job has already stays.
absl::Status keep_first_machine(database::Store& store, int64_t job_id, const FirstMachine& machine);

}  // namespace tf::session
