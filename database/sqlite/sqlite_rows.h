#pragma once
// Owns: how records become rows and back, and the statements that read and write them. Every function is one
// or a few statements on the connection it is given; none begins or ends a transaction. Does not know:
// threads, files.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "database/record.h"
#include "database/sqlite/sqlite_connection.h"
#include "database/store.h"

namespace tf::database {

// Samples as they stand in the database: int64 total_ns, uint32 iterations, little-endian, each.
std::string encode_samples(const std::vector<Sample>& samples);
absl::StatusOr<std::vector<Sample>> decode_samples(std::string_view blob);

namespace rows {

// A digest as a column holds it; valid as long as the digest.
inline Blob digest_bytes(const Digest& digest) {
  return {{reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()}};
}

// Reading.
absl::StatusOr<std::optional<int64_t>> problem_id(Connection& db, const tensor::KernelKey& problem);
// What top() asks of one problem, to take those that count: its row, then the device class, semantics version and digest of the
// schedule that the query names.
std::string top_statement(const BestQuery& query);
absl::StatusOr<std::vector<Measurement>> top(Connection& db, const BestQuery& query, size_t limit);
absl::StatusOr<Workload> find_workload(Connection& db, const std::string& key_or_prefix);
absl::StatusOr<std::vector<Workload>> workloads(Connection& db);
absl::StatusOr<std::vector<tensor::KernelKey>> problems(Connection& db);
// The next `limit` matching measurements with an id above `after_id`; filter.problem is not looked at.
absl::StatusOr<std::vector<Measurement>> page(Connection& db, const Filter& filter, int64_t after_id,
                                              size_t limit);
// Of the measurements of filter.problem, or else of all problems of filter.workload, in order.
absl::StatusOr<std::vector<int64_t>> ids_of_problems(Connection& db, const Filter& filter);
// Those of `ids` that match, whatever index named them.
absl::StatusOr<std::vector<Measurement>> matching(Connection& db, const Filter& filter,
                                                  std::span<const int64_t> ids);
absl::StatusOr<Measurement> find_record(Connection& db, const Digest& digest);
absl::StatusOr<Measurement> find_row(Connection& db, int64_t row);
absl::StatusOr<bool> is_measured(Connection& db, const tensor::KernelKey& problem,
                                 const std::string& schedule);
absl::StatusOr<int64_t> count_attempts(Connection& db, int64_t job_id);
absl::StatusOr<int64_t> count_trials(Connection& db, int64_t job_id);
absl::StatusOr<std::vector<NetworkVerdict>> verdicts(Connection& db);
absl::StatusOr<std::vector<Job>> jobs(Connection& db, std::optional<int64_t> id);
absl::StatusOr<std::vector<JobTask>> job_tasks(Connection& db, int64_t job_id);
absl::StatusOr<std::string> job_network(Connection& db, int64_t job_id);

// Writing, inside a transaction of the caller's.
absl::Status add_workload(Connection& db, const Workload& workload);
absl::StatusOr<InsertResult> insert(Connection& db, const Measurement& measurement, Origin origin);
absl::Status save_verdict(Connection& db, const NetworkVerdict& verdict, Origin origin);
absl::Status add_attempt(Connection& db, const Attempt& attempt);
absl::StatusOr<int64_t> add_job(Connection& db, const Job& job);
absl::Status update_job(Connection& db, const Job& job);
absl::Status save_job_tasks(Connection& db, const std::vector<JobTask>& tasks);
absl::Status save_job_network(Connection& db, int64_t job_id, const std::string& network);

}  // namespace rows
}  // namespace tf::database
