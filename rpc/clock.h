#pragma once
// Owns: Clock, the only source of time of leases, backoff and sessions. Does not know: who waits for what.

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

// Stands still until told to advance. Not thread-safe.
class FakeClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  void advance(absl::Duration by) { now_ += by; }

 private:
  Instant now_ = absl::Seconds(1000);
};

}  // namespace tf::rpc
