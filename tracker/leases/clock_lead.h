#pragma once
// Owns: by how much a peer's clock is ahead of ours at the least, from what it says that its clock shows.
// Does not know: connections, whose clocks they are.

#include <optional>

#include "rpc/clock.h"

namespace tf::tracker {

// However long a message was under way, what it says of the peer's clock is too little, never too much: the
// best of what was heard is the nearest. What was heard long ago is believed a little less, since clocks run
// at different speeds, by less than kMostSkew of the time. Neither may stand still while the other goes on: a
// peer whose clock did is told of the future by it, and has to come anew. Not thread-safe.
class ClockLead {
 public:
  // Of each end's clock: quartz is within 1e-4, and NTP slews by 5e-4. The two may go opposite ways.
  static constexpr double kMostSkew = 2e-3;

  // The peer's clock showed `theirs` when it said so; now ours shows `ours`. True: what was told by it until
  // now was older than it had to seem, by more than a second.
  bool hear(rpc::Instant theirs, rpc::Instant ours) {
    const absl::Duration heard = theirs - ours;
    const std::optional<absl::Duration> known = at_least(ours);
    if (known && heard <= *known) return false;
    lead_ = heard;
    heard_at_ = ours;
    return known && heard - *known > absl::Seconds(1);
  }

  // At any time, also before what was heard last. Absent: nothing was heard yet.
  std::optional<absl::Duration> at_least(rpc::Instant ours) const {
    if (!lead_) return std::nullopt;
    return *lead_ - absl::AbsDuration(ours - heard_at_) * kMostSkew;
  }

 private:
  std::optional<absl::Duration> lead_;
  rpc::Instant heard_at_;
};

}  // namespace tf::tracker
