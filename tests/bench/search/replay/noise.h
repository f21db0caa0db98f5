#pragma once
// Owns: how well what was recorded ranks what was recorded: by how much noise limits every model. Does not
// know: models, the file.

#include <span>
#include <vector>

#include "tests/bench/search/replay/quality.h"

namespace tf::replay {

// The shortest sample of each visit of a candidate, in seconds; none if it failed.
using Visits = std::vector<double>;

// Each candidate with its time by every second visit, scored by the others: how one recording ranks another,
// each of half as many visits. Those that were visited once are left out, failures stay. Nothing where fewer
// than half of those within three times the best were visited twice.
std::vector<Ranked> ranked_by_other_visits(std::span<const Visits> candidates);

}  // namespace tf::replay
