#pragma once
// Owns: who of several waiters gets a slot. Pure. Does not know: slots, quotas, where a waiter waits.
//
// A request of priority p that came at time a has, at time t, the level
//
//   level(t) = min(10, p + floor((t - a) / ageing)),
//
// and a slot goes to the highest level; among equals to the user with the lowest cost
//
//   cost = (recent slot-seconds + 60 s for each slot held) / share     (less than 1 counts as 0),
//
// and among those to who came first (a - p * ageing, so that within a user one order holds for ever). A
// request that is still unserved `overdue` after it reached level 10 goes before all others, first come first
// served. So any request is served at the latest when, after (10 - p) * ageing + overdue, the requests that
// came before it then have been: neither higher priorities nor cheaper users can hold it back for ever.
//
// Ageing as in multilevel feedback queues (Corbató et al. 1962); shares by decayed use as in the UNIX share
// scheduler (Kay and Lauder, "A Fair Share Scheduler", CACM 1988).

#include <algorithm>
#include <compare>

#include "rpc/clock.h"

namespace tf::tracker {

inline constexpr int kLowestPriority = -10;
inline constexpr int kHighestPriority = 10;

struct RankOptions {
  absl::Duration ageing = absl::Seconds(30);   // a level
  absl::Duration overdue = absl::Minutes(30);  // at the highest level
};

// When a request of priority 0 would have had to come to have the same level: priority is a head start.
inline rpc::Instant virtual_arrival(rpc::Instant arrived, int priority, const RankOptions& options) {
  return arrived - priority * options.ageing;
}

// Where a request stands at one moment; the least is served first.
struct Rank {
  bool not_overdue = true;
  int negative_level = 0;
  double cost = 0;
  rpc::Instant virtual_arrival;
  std::partial_ordering operator<=>(const Rank&) const = default;
};

Rank rank_of(rpc::Instant virtual_arrival, double cost, rpc::Instant now, const RankOptions& options);

}  // namespace tf::tracker
