#pragma once
// Owns: what `--db` may say, and opening it: a table of the kinds of stores, one row each. Does not know: how
// any of them works.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "database/store.h"
#include "database/store_scheme.h"

namespace tf::database {

// Opens a store for reading or for writing. A URL is FILE, FILE.jsonl, or SCHEME:PLACE (or SCHEME://PLACE).
// INVALID_ARGUMENT: a scheme that is not known, with those that are; a tuner's address without its scheme; a
// store that can only be read, to write. Other errors as of the store, such as open_sqlite_records.
absl::StatusOr<std::unique_ptr<Records>> open_records(const std::string& url,
                                                      const ReadOptions& options = {});
// One or several, which are then read as one (merged_records.h).
absl::StatusOr<std::unique_ptr<Records>> open_all_records(const std::vector<std::string>& urls,
                                                          const ReadOptions& options = {});
absl::StatusOr<std::unique_ptr<Store>> open_store(const std::string& url, const WriteOptions& options = {});

// Whether open_store takes it, as far as the URL tells; opens nothing.
absl::Status check_writable(const std::string& url);

// The forms of --db, for help and messages: "FILE or sqlite:FILE, FILE.jsonl, …".
std::string store_forms();

// The path of the SQLite file that the URL names; nothing: it is of another kind, or not known.
std::optional<std::string> sqlite_file(const std::string& url);

// The files of the store that the URL names: the file itself, and those that SQLite and we keep beside a
// database, there or not. Empty: it has no file, or the URL is not known.
std::vector<std::string> local_files(const std::string& url);

// As sqlite_file, for a command that writes it and files beside it. INVALID_ARGUMENT as of open_store.
absl::StatusOr<std::string> writable_sqlite_file(const std::string& url);

}  // namespace tf::database
