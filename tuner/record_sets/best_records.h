#pragma once
// Owns: which records of a database are worth sharing: what builds take. Does not know: where they go.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "database/jsonl.h"
#include "database/store.h"

namespace tf::record_sets {

struct Selection {
  std::string device_class;
  std::string target;  // canonical text; empty: all
  // The name of the device class in the set; empty: as it is. Verdicts on networks are then left out: they are on
  // a device class of the other name.
  std::string as;
  std::function<bool(const Digest& workload)> leave_out = [](const Digest&) { return false; };
};

struct BestRecords {
  database::JsonRecords
      records;  // in order of the problems' first insertion; workloads without a record are left out
  std::vector<std::string> targets;
  int64_t verdicts_left_out = 0;
};

// Of each kernel what a build takes (database::Records::choose, network verdicts followed), with no reduced
// precision, with each kind, with all, and with those of a verdict; and the untuned record that this was
// compared with. Only schedules of this program's meaning. NOT_FOUND: there is nothing of that device class,
// with those that there are. The records' errors.
absl::StatusOr<BestRecords> best_records(database::Records& records, const Selection& selection);

}  // namespace tf::record_sets
