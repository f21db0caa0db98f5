#pragma once
// Owns: how the best of a kernel changes over time, and thinning for people, which leaves values as they are.
// Does not know: messages, databases.

#include <cstdint>
#include <span>
#include <vector>

#include "tuner/report/columns.h"

namespace tf::report {

// From this entry on, until the next change, the best is that; 0: what counted failed since, and nothing is
// left.
struct Change {
  uint32_t entry = 0;
  double ns = 0;
};

// The fastest of the kernel's measurements that count (database/which_count.h), by what was known when each
// came, each time it changes. Only settings that are `wanted`, by their numbers, and entries below `end`.
std::vector<Change> changes_of_best(const Columns& columns, uint32_t kernel, const std::vector<bool>& wanted,
                                    uint32_t end);

// Positions to keep of a value that only changes at some moments, at most `most` (at least 4) of them: all if
// they fit, else the first, the last, and of equal spans of time the least and the last. `at_s` increases; the
// value 0 is none.
std::vector<size_t> thinned_changes(std::span<const double> at_s, std::span<const double> values,
                                    size_t most);

// Positions to keep of `entries`, at most `most` of them: all that were the best so far, or the last of these if
// they are more; of the others as many as fit, of each outcome its share and at least one, evenly.
std::vector<size_t> thinned_candidates(const Columns& columns, std::span<const uint32_t> entries,
                                       const std::vector<bool>& was_best, size_t most);

}  // namespace tf::report
