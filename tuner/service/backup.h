#pragma once
// Owns: a backup of what a tuner keeps: its database, and the models of jobs that are not over. Does not
// know: gRPC.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tf::service {

struct BackupContents {
  int64_t jobs = 0;    // all of them
  int64_t models = 0;  // of jobs that are not over
};

// Copies the database file `from` to the new file `to`, and the models that its unfinished jobs need from
// FROM.models to the new folder TO.models. A tuner may be running on `from`. Errors of
// database::copy_sqlite_file; DATA_LOSS if a model of an unfinished job is missing. After an error nothing of
// `to` is left.
absl::StatusOr<BackupContents> back_up(const std::string& from, const std::string& to);

}  // namespace tf::service
