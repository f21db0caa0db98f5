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
  uint64_t seed = 1;
};

struct RaceOutcome {
  // Times of one run, by all recorded samples, over that of the race's fastest candidate; at least 1.
  double raced = 1;       // of the best by what racing saw
  double played_off = 1;  // of the best of the play-off
};

// Races among random candidates that ran, in random order, each candidate's samples drawn anew, with
// replacement, from its recorded ones. None if fewer than two ran.
std::vector<RaceOutcome> run_races(const Pool& pool, const RaceOptions& options);

}  // namespace tf::replay
