#pragma once
// Owns: how well times that were recorded rank what was recorded: no model does better. Does not know:
// models, the file.

#include <span>
#include <string>
#include <vector>

#include "tests/bench/search/replay/quality.h"

namespace tf::replay {

struct Timed {
  double seconds = 0;  // 0: it failed
  std::string code;    // equal texts are equal programs
};

// The candidates as a model ranks them that knows their true times: each scored by its recorded time,
// disturbed like a recording. Recordings of equal programs, by different processes at different times, tell
// how much that is: as much as the two of a pair differ, over the square root of two. Nothing where fewer
// than 20 pairs are within three times the best. The same candidates give the same answer.
std::vector<Ranked> ranked_by_truth(std::span<const Timed> candidates);

}  // namespace tf::replay
