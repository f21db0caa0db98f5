#pragma once
// Owns: what one core of a target does in a cycle, as far as the draft model asks. Does not know: programs.

#include "compiler/target/target.h"

namespace tf::model {

// Of whole vector registers, and bytes from beyond each level of cache. They hold within a factor of
// about 1.5; the learned model corrects the rest.
struct Rates {
  double fmas = 2;
  double loads = 2;
  double stores = 1;
  double l2_bytes = 45;
  double l3_bytes = 47;
  double memory_bytes = 5;
  double fma_latency = 4;  // cycles until an accumulator can be used again
  double hertz = 3.7e9;
};

Rates rates_of(const target::Target& target);

}  // namespace tf::model
