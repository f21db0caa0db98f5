#pragma once
// Owns: how long to wait from one renewal of a lease to the next. Pure: neither sleeps nor reads a clock.
// Does not know: leases, who answers.

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"
#include "rpc/backoff.h"

namespace tf::measure {

class RenewalPace {
 public:
  RenewalPace(absl::Duration term, uint64_t seed)
      : third_(term / 3),
        backoff_(seed, {.first = std::min(absl::Seconds(1), third_),
                        .longest = std::min(absl::Seconds(5), third_)}) {}

  // After one that was answered, whatever the answer.
  absl::Duration after_answer() {
    backoff_.reset();
    return third_;
  }
  // After one that nobody has answered: soon, to hear when the tracker is back, and not when all the other
  // tuners try again. At most a third of the term.
  absl::Duration after_silence() { return backoff_.next(); }

 private:
  const absl::Duration third_;
  rpc::Backoff backoff_;
};

}  // namespace tf::measure
