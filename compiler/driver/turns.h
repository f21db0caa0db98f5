#pragma once
// Owns: timing builds of one network against each other: they run in turns, so that what the machine does
// meanwhile is the same for all. Does not know: how they were built, where they run, which should win.

#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace tf::driver {

// Runs a build once: its nanoseconds.
using Run = std::function<absl::StatusOr<double>()>;

// Of one build: what a run took, a round.
using Rounds = std::vector<double>;

struct TurnsOptions {
  int rounds = 30;  // at most
  // Asked before each run: whether to leave it at the rounds that are complete. Empty: never.
  std::function<bool()> is_over = nullptr;
  // Asked after each round: whether what all builds took so far is enough. Empty: never.
  std::function<bool(std::span<const Rounds>)> is_enough = nullptr;
};

// In a round, each build has its turn, another first each time. A turn is kTurn runs, of which the first does
// not count and the mean of the others does: it finds its weights where the build before left them, the
// others where a network that runs alone has them.
inline constexpr int kTurn = 3;

// One entry a build; all have as many rounds, none if it was over before. Errors: a run's.
absl::StatusOr<std::vector<Rounds>> run_in_turns(std::span<const Run> builds, const TurnsOptions& options);

}  // namespace tf::driver
