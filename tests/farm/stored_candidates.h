#pragma once
// Owns: made-up candidates of one made-up task and how their results stand in a database, so that a test can
// tell from the database alone whether each was kept, once, with its own answer. Does not know: how they are
// measured.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "database/record.h"
#include "tests/farm/history_checker.h"

namespace tunefarm::farm::v1 {
class TrialResult;
}

namespace tf::farm_test {

database::Workload made_up_workload();
tensor::KernelKey made_up_problem();

// "candidate 7"; the schedule under which it is stored.
std::string candidate_name(int i);
// Begin with the name; their length, and with it the time that FakeExecutor reports, differs between
// candidates.
std::string candidate_bytes(int i);
database::Measurement measurement_of(const std::string& name, const tunefarm::farm::v1::TrialResult& result);

// All rows of a database. DATA_LOSS: a row holds another candidate's answer.
absl::StatusOr<std::vector<StoredRow>> stored_rows(const std::string& database_path);

}  // namespace tf::farm_test
