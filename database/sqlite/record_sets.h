#pragma once
// Owns: merging a set of records that somebody published into a database file, and what the file knows of such
// sets: which there were, and which records came from which. Does not know: where a set is from, who may sign
// it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "database/jsonl.h"

namespace tf::database {

// One version of a set. A set is one publisher's: `signer` is part of its identity.
struct RecordSet {
  std::string name;
  Digest signer;  // fingerprint of the public key
  int64_t version = 0;
  Digest manifest;                 // SHA-256 of what describes it
  std::optional<Digest> previous;  // the manifest of the version before; nothing: the first
  std::string device_class, made_by, source;
  int64_t created_unix_ns = 0, pulled_unix_ns = 0;
};

// Records by what they were to the database.
struct MergeCounts {
  int64_t added = 0;     // of kernels without a time on that device class
  int64_t better = 0;    // faster than all of their kernel that were there
  int64_t slower = 0;    // new, and not faster
  int64_t equal = 0;     // there already
  int64_t verdicts = 0;  // taken over
};

// Adds the set's records and verdicts and remembers whose they are, all or nothing; the same version again
// changes nothing. Makes or migrates the file as open_sqlite_store does, with its errors; `locked_remedy` is as
// there. FAILED_PRECONDITION for a version below one that the file has, another set under the name and version
// of one that it has, and one that does not follow the version before it where the file has that.
absl::StatusOr<MergeCounts> merge_record_set(const std::string& path, const RecordSet& set,
                                             const JsonRecords& records, const std::string& locked_remedy);

// That a set has a record.
struct SetEntry {
  std::string name;
  Digest signer;
  int64_t version = 0;   // the first version of the set that has it
  bool brought = false;  // the record came with it; else it was here before
};

// Of each of the records that a set has, the sets; without those that none has. The file is as
// open_sqlite_records wants it.
absl::StatusOr<std::map<Digest, std::vector<SetEntry>>> sets_of_records(const std::string& path,
                                                                        const std::vector<Digest>& records);

}  // namespace tf::database
