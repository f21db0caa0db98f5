#include "rpc/clock.h"

#include <ctime>

#include "absl/time/clock.h"

namespace tf::rpc {
namespace {

class RealClock final : public Clock {
 public:
  Instant now() const override {
    timespec t{};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return absl::DurationFromTimespec(t);
  }
};

class RealWallClock final : public WallClock {
 public:
  absl::Time now() const override { return absl::Now(); }
};

}  // namespace

const Clock& real_clock() {
  static const RealClock clock;
  return clock;
}

const WallClock& real_wall_clock() {
  static const RealWallClock clock;
  return clock;
}

}  // namespace tf::rpc
