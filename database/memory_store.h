#pragma once
// Owns: a Store in memory, an SQLite database that goes with it: for JSON lines, which are read into it, and
// for tests. insert_async answers at once, on the caller's thread. Does not know: disks.

#include <memory>

#include "database/store.h"

namespace tf::database {

std::unique_ptr<Store> make_memory_store();

}  // namespace tf::database
