#pragma once
// Owns: what is said about runs: how good they are after so many trials, and what one contender needs to
// reach what another reaches. Does not know: where runs come from.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/search/replay/run.h"
#include "tuner/search/strategies.h"

namespace tf::replay {

// What a run cost, with the final re-measurement that it ends with.
struct Cost {
  double trials = 0;
  double device_seconds = 0;
};

// The runs of one contender on one task, one a seed.
using Runs = std::vector<std::vector<Step>>;

// Medians over the seeds after so many trials (a run that ended earlier stays as it ended). Infinite seconds
// where half of the runs have found nothing.
Step typical_step(const Runs& runs, size_t trials);
size_t most_trials(const Runs& runs);
// Of the least number of trials with which, and with any more, the median over the seeds is no slower: what
// somebody has to grant who does not know the outcome. A run that races ends with a final re-measurement, and
// may end a little worse one trial later: what one trial's end had by luck does not count. Nothing if even
// all trials do not suffice.
std::optional<Cost> cost_to_reach(const Runs& runs, double seconds);

// Two contenders on one task at the same final quality: the time that both reach, which is the slower of
// their median final times, and 1% for noise: so both have a cost. `ratio` is the first one's cost over the
// second's; below 1 the first needs less.
struct SameQuality {
  double seconds = 0;
  Cost first, second, ratio;
};
// Nothing if either found nothing at all.
std::optional<SameQuality> at_same_quality(const Runs& first, const Runs& second);

// Of the baseline: with fewer trials it has learned nothing yet, and a comparison with it says nothing.
inline constexpr size_t kBaselineRound = search::kAnsorLikeRound;

// Of positive values; 1 for none.
double geometric_mean(std::span<const double> values);

}  // namespace tf::replay
