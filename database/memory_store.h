#pragma once
// Owns: a Store in memory, with the same rules as the file's: for JSON lines, which are read into it, and for
// tests. Does not know: disks. "Committed" means inserted; insert_async answers at once, on the caller's
// thread.

#include <memory>

#include "database/store.h"

namespace tf::database {

std::unique_ptr<Store> make_memory_store();

}  // namespace tf::database
