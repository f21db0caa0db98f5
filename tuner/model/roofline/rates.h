#pragma once
// Owns: what one core of a target does in a cycle, and how its caches are built, as far as the roofline model
// asks. Does not know: programs.

#include "compiler/target/target.h"
#include "tuner/model/nests/cache_lines.h"
#include "tuner/model/roofline/measured_rates.h"

namespace tf::model {

// Of whole vector registers.
struct Rates {
  double fmas = 2;
  double loads = 2;
  double stores = 1;
  double hertz = 3.7e9;  // as is usual
};

Rates rates_of(const target::Target& target);

// Floating-point operations of a core with these pipes in a cycle; a multiply-add is two.
double flops_a_cycle(const target::Target& target);
// Cycles a second of a core that does so many operations in each: by what was measured, if it was.
double hertz_of(const MeasuredRates& measured, double flops_a_cycle, double usual_hertz);

// Of the cache behind L2. A target that does not say shares some between cores, or buffers memory, for a few
// times its L2; behind an x86-64 core's own L2 there is 16 MB and more.
double shared_cache_bytes(const target::Target& target);

// By the associativity of the CPU's first two levels; 8 ways where it is not known.
CacheWays ways_of(const target::Target& target);

}  // namespace tf::model
