#pragma once
// Owns: what `--db` may say: a database FILE, FILE.jsonl, or tuner://HOST:PORT for a running tuner.
// Does not know: how to talk to a tuner; the caller brings that, because the database module has no network.

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "database/store.h"

namespace tf::database {

// Opens the records of the tuner at "HOST:PORT".
using RemoteOpener = std::function<absl::StatusOr<std::unique_ptr<Records>>(const std::string& host_port)>;

// Without `remote`, a tuner:// spec is INVALID_ARGUMENT. Other errors: open_sqlite_records,
// open_jsonl_records.
absl::StatusOr<std::unique_ptr<Records>> open_records(const std::string& spec,
                                                      const RemoteOpener& remote = nullptr);

// INVALID_ARGUMENT unless it says a FILE, which alone a command can write to as it runs: its other forms
// would not be read again as what was written.
absl::Status check_writable(const std::string& spec);

// Whether it names a database FILE, and not FILE.jsonl or a tuner.
bool is_file(const std::string& spec);

// Whether it says a FILE and there is none yet: a command that writes makes it (database::check_makeable).
bool is_new_file(const std::string& spec);

}  // namespace tf::database
