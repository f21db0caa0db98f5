#pragma once
// Owns: what a GPU does in a second, as far as it is not part of a target: units, arithmetic, bytes. Does not know:
// programs.

#include "compiler/target/target.h"
#include "tuner/model/roofline/measured_rates.h"

namespace tf::model {

struct GpuRates {
  double units = 1;        // multiprocessors
  double flops_per_s = 1;  // of all units, fp32
  double l2_bytes_per_s = 1, memory_bytes_per_s = 1;
};

// What was measured; the rest as devices of that architecture usually are, which is good for ranking only.
GpuRates gpu_rates(const target::Target& target, const MeasuredRates& measured);

// fp32 multiply-adds of one unit in a cycle.
double unit_lanes(const target::Target& target);

}  // namespace tf::model
