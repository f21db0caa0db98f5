#pragma once
// Owns: the one wording of what a store refuses, shared by every implementation.
// Does not know: how records are kept.

#include <string>

#include "absl/status/status.h"
#include "database/record.h"

namespace tf::database {

// INVALID_ARGUMENT unless it is 6 to 64 lower-case hexadecimal digits.
absl::Status check_key_prefix(const std::string& key_or_prefix);
absl::Status unknown_workload(const std::string& key_or_prefix);
absl::Status ambiguous_workload(const std::string& key_or_prefix);
absl::Status workload_missing(const Digest& key);
// DATA_LOSS, with what SQLite says of the file, and how to save what is left.
absl::Status damaged_file(const std::string& path, const std::string& reason,
                          const std::string& use = "a tuning database");
// Of a measurement that check() finds impossible.
absl::Status refused(const absl::Status& why);
absl::Status unknown_record(const Digest& digest);
absl::Status unknown_row(int64_t row);
absl::Status fenced(const LeaseStamp& lease, uint64_t highest_epoch);
absl::Status unknown_job(int64_t id);
absl::Status final_job(const Job& job);

}  // namespace tf::database
