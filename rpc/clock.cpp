#include "rpc/clock.h"

#include <ctime>

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

}  // namespace

const Clock& real_clock() {
  static const RealClock clock;
  return clock;
}

}  // namespace tf::rpc
