#pragma once
// Owns: a disk that fails at the Nth write, for all SQLite databases of this process, and what a crash leaves
// of one. Does not know: who writes.

#include <cstdint>
#include <string>

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

// Makes of `to` what would be left of the database `from` if its writer, which is idle, died now: its file
// and its log.
void copy_as_after_a_crash(const std::string& from, const std::string& to);

}  // namespace tf::faulty_disk
