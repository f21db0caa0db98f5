#pragma once
// Owns: how long a device that has trials may be silent, and what to do once it has been for longer. Pure:
// neither waits nor reads a clock. Does not know: streams, leases, which trials.

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "rpc/clock.h"
#include "rpc/transfer/transfer.h"

namespace tf::measure {

struct SilenceLimits {
  // Beside twice the time limit of a trial, which runs once more if it was disturbed, and its artifacts' way
  // to the device: for what else may come between two answers, the making of a trial's buffers, the device's
  // golden kernel, a rest.
  absl::Duration slack = absl::Seconds(30);
  // For a reference, which runs once under the device's own limit.
  absl::Duration reference = absl::Seconds(120);
};

// What may come before the next answer: of all trials that wait for theirs, the most.
struct LongestTrial {
  absl::Duration run_limit;
  // Of its candidate and its reference. Through the tracker the device has yet to fetch them, and on a slow
  // line it does, as long as they move.
  uint64_t artifact_bytes = 0;
};

enum class Remedy {
  kNone,
  // An answer may be lost, or what was said: on a new stream both ends tell again what they have, and nothing
  // runs twice.
  kTellAgain,
  // That did not help, and no reference takes so long: the trouble lies with the device.
  kGiveBack,
};

// Not thread-safe.
class Silence {
 public:
  explicit Silence(const SilenceLimits& limits) : limits_(limits) {}

  // An answer came to a trial that waited for it, or there are trials again. One that only comes again, as
  // all do on a new stream until they are durable here, says nothing of the others.
  void broken(rpc::Instant now) {
    lasted_ = absl::ZeroDuration();
    if (since_) since_ = now;
    told_again_ = false;
  }
  // Time without a stream says nothing of the device, and does not count. All that there was with one does:
  // else a line that breaks often would hide that the device is silent.
  void stream_begins(rpc::Instant now) { since_ = now; }
  void stream_ends(rpc::Instant now) {
    lasted_ = lasted(now);
    since_.reset();
  }

  // How long it may last, while such trials wait for their answers.
  absl::Duration longest(const LongestTrial& trial) const {
    return 2 * trial.run_limit + rpc::longest_transfer(trial.artifact_bytes) + limits_.slack +
           (told_again_ ? limits_.reference : absl::ZeroDuration());
  }

  // What to do now, once each time.
  Remedy remedy(rpc::Instant now, const LongestTrial& trial) {
    if (lasted(now) < longest(trial)) return Remedy::kNone;
    lasted_ = absl::ZeroDuration();
    if (since_) since_ = now;
    return std::exchange(told_again_, true) ? Remedy::kGiveBack : Remedy::kTellAgain;
  }

 private:
  absl::Duration lasted(rpc::Instant now) const {
    return lasted_ + (since_ ? now - *since_ : absl::ZeroDuration());
  }

  const SilenceLimits limits_;
  absl::Duration lasted_;              // on streams that have ended
  std::optional<rpc::Instant> since_;  // on the present one; none: there is none
  bool told_again_ = false;
};

}  // namespace tf::measure
