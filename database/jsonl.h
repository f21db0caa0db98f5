#pragma once
// Owns: files of JSON lines: a header, then each workload before its first measurement, then the verdicts on
// networks. The form for exchange, version control and people; order of lines is order of insertion, so that
// ties of `best` stay as they were. Does not know: SQLite.

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "database/store.h"
#include "database/store_scheme.h"

namespace tf::database {

struct TransferCounts {
  int64_t workloads = 0;
  int64_t measurements = 0;
  int64_t duplicates = 0;  // import: measurements that were there already
  int64_t verdicts = 0;    // import: without those that were there already, or were older
  int64_t left_out = 0;    // import: times inside networks, which nothing uses any more
};

// Writes everything `records` holds that the filter lets through, and the verdicts, unless one job, workload or
// problem is asked for. DATA_LOSS if the stream fails,
// which its message calls `name`.
absl::StatusOr<TransferCounts> export_jsonl(Records& records, const Filter& filter, std::ostream& out,
                                            const std::string& name = "standard output");
// The same into a file, as replace_file does (base/files/file.h).
absl::StatusOr<TransferCounts> export_jsonl_file(Records& records, const Filter& filter,
                                                 const std::string& path);

// Inserts the file's records, in their order; what is there already stays as it is, so that an import can be
// repeated. Every line is checked before the first is inserted: a bad file changes nothing. Errors of
// read_file (base/files/file.h); INVALID_ARGUMENT as "FILE:LINE: what is wrong" for a line that is no record.
absl::StatusOr<TransferCounts> import_jsonl(const std::string& path, Store& store);

// The same of what was read of it.
absl::StatusOr<TransferCounts> import_jsonl_text(const std::string& path, const std::string& text,
                                                 Store& store);
// What a file with that text holds, if each of its lines can be inserted. Errors of import_jsonl.
struct JsonRecords {
  std::vector<Workload> workloads;
  std::vector<Measurement> measurements;
  std::vector<NetworkVerdict> verdicts;
};
absl::StatusOr<JsonRecords> parse_jsonl_text(const std::string& path, const std::string& text);
// The text of such a file: as export_jsonl orders it.
std::string jsonl_text(const JsonRecords& records);

// Whether import_jsonl_text would succeed with a store that is empty, as far as the text goes.
absl::Status check_jsonl_text(const std::string& path, const std::string& text);

extern const StoreScheme kJsonLines;

// The file's records, in memory.
absl::StatusOr<std::unique_ptr<Records>> open_jsonl_records(const std::string& path);

}  // namespace tf::database
