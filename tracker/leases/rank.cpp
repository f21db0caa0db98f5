#include "tracker/leases/rank.h"

namespace tf::tracker {

Rank rank_of(rpc::Instant virtual_arrival, double cost, rpc::Instant now, const RankOptions& options) {
  const absl::Duration waited = now - virtual_arrival;
  if (waited >= kHighestPriority * options.ageing + options.overdue) {
    return {.not_overdue = false, .virtual_arrival = virtual_arrival};
  }
  const double levels = absl::Floor(waited, options.ageing) / options.ageing;
  return {.not_overdue = true,
          .negative_level = -static_cast<int>(std::min<double>(levels, kHighestPriority)),
          .cost = cost < 1 ? 0 : cost,
          .virtual_arrival = virtual_arrival};
}

}  // namespace tf::tracker
