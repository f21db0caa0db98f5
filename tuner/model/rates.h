#pragma once
// Owns: what one core of a target does in a cycle, and how its caches are built, as far as the draft model
// asks. Does not know: programs.

#include "compiler/target/target.h"
#include "tuner/model/cache_lines.h"

namespace tf::model {

// Of whole vector registers.
struct Rates {
  double fmas = 2;
  double loads = 2;
  double stores = 1;
  double hertz = 3.7e9;
};

Rates rates_of(const target::Target& target);

// By the associativity of the CPU's first two levels; 8 ways where it is not known.
CacheWays ways_of(const target::Target& target);

}  // namespace tf::model
