#pragma once
// Owns: a session's final re-measurement among candidates that racing did not stop, played with recorded
// replicates. Does not know: strategies, how a replicate is chosen.

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "base/statistics/race.h"
#include "tests/bench/search/replay/pool.h"

namespace tf::replay {

// A candidate that ran to the end of its race, and what the race showed of it.
struct Arrival {
  const Entry* entry = nullptr;
  Estimate seen;
};

struct ReplayedFinals {
  const Entry* winner = nullptr;
  int trials = 0;  // 0: it was clear who is the best
  double device_seconds = 0;
};

// The replicate that a candidate's trial of a round, counted from 0, is taken from. None: no more were
// recorded; the final re-measurement ends by the rounds before.
using ReplicateOfRound = std::function<std::optional<Replicate>(const Entry& entry, size_t round)>;

// `arrivals`: one at least. The trials are a session's (tuner/session/finals/finals.h), each in a process of its
// own.
ReplayedFinals run_finals(std::span<const Arrival> arrivals, const ReplicateOfRound& replicate);

}  // namespace tf::replay
