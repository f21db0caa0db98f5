#pragma once
// Owns: racing put to the test: whether it finds the candidate that all samples of all candidates would have
// found. Pure and seeded. Does not know: strategies.

#include <cstdint>
#include <vector>

#include "tests/bench/search/replay/pool.h"

namespace tf::replay {

struct RaceOptions {
  int races = 200;
  size_t candidates = 64;  // of a race
  // Each trial is one of those of the candidate's replicates that runs see, drawn anew, and its time the
  // shortest sample of the others. Without: all trials are its first replicate, and its time the shortest
  // sample of that.
  bool across_replicates = false;
  uint64_t seed = 1;
};

struct RaceOutcome {
  // Times of one run, over that of the race's fastest candidate; at least 1.
  double raced = 1;   // of the best by what racing saw
  double finals = 1;  // of the best of the final re-measurement
};

// Races among random candidates that ran, in random order, each trial's samples drawn anew, with replacement,
// from those of a replicate. None if fewer than two ran.
std::vector<RaceOutcome> run_races(const Pool& pool, const RaceOptions& options);

}  // namespace tf::replay
