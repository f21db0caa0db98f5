#pragma once
// Owns: Clock, the only source of time of leases, backoff and sessions, and WallClock, that of certificates.
// Does not know: who waits for what.

#include <mutex>

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

// Stands still until told to advance. Thread-safe.
class FakeClock final : public Clock {
 public:
  Instant now() const override {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  void advance(absl::Duration by) {
    const std::scoped_lock lock(mutex_);
    now_ += by;
  }

 private:
  mutable std::mutex mutex_;
  Instant now_ = absl::Seconds(1000);
};

// The time of day, which may jump: for what is written down with a date, such as the life of a certificate.
class WallClock {
 public:
  virtual ~WallClock() = default;
  // Thread-safe.
  virtual absl::Time now() const = 0;
};

// Lives for ever.
const WallClock& real_wall_clock();

// Begins at the machine's time, then stands still until told to advance. Thread-safe.
class FakeWallClock final : public WallClock {
 public:
  absl::Time now() const override {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  void advance(absl::Duration by) {
    const std::scoped_lock lock(mutex_);
    now_ += by;
  }

 private:
  mutable std::mutex mutex_;
  absl::Time now_ = real_wall_clock().now();
};

}  // namespace tf::rpc
