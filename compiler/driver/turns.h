#pragma once
// Owns: timing builds of one network against each other: they run in turns, so that what the machine does
// meanwhile is the same for all. Does not know: how they were built, which should win.

#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/race.h"
#include "compiler/driver/loaded_model.h"

namespace tf::driver {

struct TurnsOptions {
  int rounds = 30;
  // Asked before each round from the fourth on: whether to leave it at those before. Empty: never.
  std::function<bool()> is_enough = nullptr;
};

// Of each model, the nanoseconds of one run a round, after two that are not timed. All models run once a
// round, another first each time. Their inputs are bound. INTERNAL if a model fails.
absl::StatusOr<std::vector<std::vector<double>>> run_in_turns(std::span<LoadedModel* const> models,
                                                              const TurnsOptions& options);

// The times as shares of the others' of the same rounds: median, and its 95% bounds.
Estimate ratio_of(std::span<const double> times, std::span<const double> others);

}  // namespace tf::driver
