#pragma once
// Owns: what one core of a target does in a cycle, as far as the draft model asks. Does not know: programs.

#include "compiler/target/target.h"

namespace tf::model {

// Of whole vector registers, and of cache lines from each level: bytes, and cycles more for each run of lines
// beside each other, until prefetchers follow. They hold within a factor of about 1.5; the learned model
// corrects the rest.
struct Rates {
  double fmas = 2;
  double loads = 2;
  double stores = 1;
  double l2_bytes = 62, l2_run = 3.3;
  double l3_bytes = 79, l3_run = 3.3;
  double memory_bytes = 10, memory_run = 48;
  double fma_latency = 4.5;  // cycles until an accumulator can be used again
  double hertz = 3.7e9;
};

Rates rates_of(const target::Target& target);

}  // namespace tf::model
