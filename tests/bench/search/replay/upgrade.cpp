#include "tests/bench/search/replay/upgrade.h"

#include "base/status.h"
#include "database/sqlite/sqlite_store.h"

namespace tf::replay {

absl::Status upgrade(const std::vector<std::string>& databases) {
  for (const std::string& path : databases) {
    // What can be read stays alone: another recording may be writing it.
    if (database::is_missing(path) || database::open_sqlite_records(path).ok()) continue;
    TF_RETURN_IF_ERROR(database::open_sqlite_store(path).status());
  }
  return absl::OkStatus();
}

}  // namespace tf::replay
