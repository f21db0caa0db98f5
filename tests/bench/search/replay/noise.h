#pragma once
// Owns: how much of a pool's order is noise: what every model can reach at most. Does not know: models, the
// file.

#include <cstdint>
#include <span>
#include <vector>

#include "tests/bench/search/replay/quality.h"

namespace tf::replay {

// The shortest sample of each replicate of a code, in seconds, in the order in which they were made; none if
// it failed. A code's replicates are those of all candidates that compile to it.
using Replicates = std::vector<double>;

// How many replicates a label may have so that nine of ten codes within three times the best have as many:
// one that was run more often looks faster for that alone, since others on the machine only ever add to a
// time. At least 1.
size_t replicates_of_a_label(std::span<const Replicates> codes);

// What one label of so many replicates differs by from another of the same code, as logarithms of ratios: of
// every code near the best with twice as many replicates. Where fewer than 20 codes have, of half as many
// replicates, and so on: labels are at least as sure as that. Empty where no code was run twice.
std::vector<double> disagreements(std::span<const Replicates> codes, size_t replicates);

// A model that knows every time, judged by labels like these: the times are the labels as they are; of the
// labels that are drawn anew, one in two is longer by a disagreement, as the longer of two labels is beside
// the other. None is shorter: what disturbs a replicate only adds to it, and one label far too short would be
// the best that all are compared with. Deterministic. Nothing without disagreements.
std::vector<Ranked> ranked_by_the_truth(std::span<const Ranked> labels,
                                        std::span<const double> disagreements);

}  // namespace tf::replay
