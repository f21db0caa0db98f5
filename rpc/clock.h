#pragma once
// Owns: Clock, the only source of time of leases, backoff and sessions, and WallClock, that of certificates.
// Does not know: who waits for what.

#include "absl/time/time.h"

namespace tf::rpc {

// Time since an arbitrary origin that never jumps. Only differences have meaning, and only within one
// process.
using Instant = absl::Duration;

class Clock {
 public:
  virtual ~Clock() = default;
  // Thread-safe.
  virtual Instant now() const = 0;
};

// CLOCK_BOOTTIME: also counts while the machine sleeps, since a lease runs out then too. Lives for ever.
const Clock& real_clock();

// The time of day, which may jump: for what is written down with a date, such as the life of a certificate.
class WallClock {
 public:
  virtual ~WallClock() = default;
  // Thread-safe.
  virtual absl::Time now() const = 0;
};

// Lives for ever.
const WallClock& real_wall_clock();

}  // namespace tf::rpc
