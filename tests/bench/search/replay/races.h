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
  // Each trial is one of the candidate's visits, drawn anew, and a candidate's time the shortest sample of
  // all. Without: all trials are its first visit, and its time that visit's.
  bool across_visits = false;
  uint64_t seed = 1;
};

struct RaceOutcome {
  // Times of one run, by all samples, over that of the race's fastest candidate; at least 1.
  double raced = 1;       // of the best by what racing saw
  double played_off = 1;  // of the best of the play-off
};

// Races among random candidates that ran, in random order, each trial's samples drawn anew, with replacement,
// from those of a visit. None if fewer than two ran.
std::vector<RaceOutcome> run_races(const Pool& pool, const RaceOptions& options);

}  // namespace tf::replay
