#pragma once
// Owns: what one row of a query holds, as values, and whether it can: a file may be anybody's, and its tables
// need not be those that the migrations make. Does not know: which rows are asked for, how rows are written.

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "database/record.h"

namespace tf::database {

class Statement;

// The columns, and the tables m, p and w, of every query whose rows the function of that name reads.
extern const char kSelectMeasurement[];
extern const char kSelectProblem[];
extern const char kSelectWorkload[];
extern const char kSelectJob[];
extern const char kSelectJobTask[];

// DATA_LOSS, with the table, the row and what is wrong with it, for a value of another type than its
// column's, one out of its range, a median that is not that of the samples, a workload whose key is not that
// of its text, a rate that no core reaches.
absl::StatusOr<Measurement> read_measurement(const Statement& row);
absl::StatusOr<tensor::KernelKey> read_problem(const Statement& row);
absl::StatusOr<Workload> read_workload(const Statement& row);
absl::StatusOr<Job> read_job(const Statement& row);
absl::StatusOr<JobTask> read_job_task(const Statement& row);

// The error of such a row.
absl::Status damaged_row(const Statement& row, std::string_view table, int64_t id, const absl::Status& why);

}  // namespace tf::database
