#pragma once
// Owns: publishing the next version of a set in a folder. Does not know: databases, who serves the folder.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/identity/key_pair.h"
#include "tuner/record_sets/best_records.h"
#include "tuner/record_sets/manifest.h"

namespace tf::record_sets {

struct PushOptions {
  std::string folder;  // made if need be
  std::string name;
  std::string device_class;
  std::string by;
  int64_t created_unix_ns = 0;
};

struct Pushed {
  Manifest manifest;   // of the newest version
  bool is_new = true;  // false: the records are those of the newest version already, and nothing was written
};

// Writes the records, the manifest, its signature and then, as one step, the number of the newest version;
// versions that are there stay. FAILED_PRECONDITION if the folder has another set, or one that this key has not
// signed; if another process pushes there; or if the records are too large. Errors of files.
absl::StatusOr<Pushed> push(const BestRecords& best, const rpc::KeyPair& key, const PushOptions& options);

}  // namespace tf::record_sets
