#pragma once
// Owns: the wall clock of processes that a test starts, which it may set forward and back while they run, as
// an administrator or NTP does; the machine's own stays as it is. Does not know: who looks at it.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/files/temporary_folder.h"

namespace tf::test {

// Processes live no longer than their clock.
class MovedClock {
 public:
  MovedClock();
  ~MovedClock();
  MovedClock(const MovedClock&) = delete;
  MovedClock& operator=(const MovedClock&) = delete;

  // What begins the command of a process with this clock.
  std::vector<std::string> prefix() const;
  // So far from the machine's clock from now on, in all of them at once.
  void set(absl::Duration ahead);

 private:
  const TemporaryFolder folder_;
  int64_t* ahead_ns_;  // in a file that they map
};

}  // namespace tf::test
