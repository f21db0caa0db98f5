#pragma once
// Owns: what Linux says of a process's use of the machine. Does not know: what the process does.

#include <cstdint>

namespace tf::bench {

struct ProcessFigures {
  double cpu_s = 0;  // user and system, its own and that of its children that have ended
  int64_t resident_bytes = 0;
  int64_t descriptors = 0;
  int64_t written_bytes = 0;  // to disks: pages that it has made dirty, each time
};

// Zeros if there is no such process.
ProcessFigures figures_of(int pid);

}  // namespace tf::bench
