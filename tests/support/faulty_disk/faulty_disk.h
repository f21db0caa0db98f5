#pragma once
// Owns: a disk that fails at the Nth write, for all SQLite databases of this process. Does not know: who
// writes.

#include <cstdint>

namespace tf::faulty_disk {

enum class DiskFault {
  kGone,  // every write and sync from the Nth on
  kOnce,  // only the Nth
};

// Both put the disk under every database that is opened afterwards, as SQLite's default VFS over the
// operating system's.

// Counts writes, truncations and syncs of all files from now on; the one number `nth` (from 1) fails.
void fail_disk_at(int64_t nth, DiskFault fault);
// The disk works again. Returns how many writes there were since fail_disk_at, failed ones too.
int64_t mend_disk();

}  // namespace tf::faulty_disk
