#pragma once
// Owns: clocks that stand still until they are told to advance. Does not know: who looks at them.

#include <mutex>

#include "rpc/clock.h"

namespace tf::rpc {

// Thread-safe.
template <typename Base, typename Time>
class StandingClock : public Base {
 public:
  explicit StandingClock(Time now) : now_(now) {}
  Time now() const override {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  void advance(absl::Duration by) {
    const std::scoped_lock lock(mutex_);
    now_ += by;
  }

 private:
  mutable std::mutex mutex_;
  Time now_;
};

struct FakeClock : StandingClock<Clock, Instant> {
  FakeClock() : StandingClock(absl::Seconds(1000)) {}
};

// Begins at the machine's time.
struct FakeWallClock : StandingClock<WallClock, absl::Time> {
  FakeWallClock() : StandingClock(real_wall_clock().now()) {}
};

}  // namespace tf::rpc
