#pragma once
// Owns: which CPUs of this machine measure and which search and build, when both happen here. Does not know:
// what runs on them.

#include <vector>

namespace tf::tuner_cli {

struct CpuSplit {
  std::vector<int> measure;  // the last `threads` CPUs; empty: too few CPUs to set any apart
  std::vector<int> rest;     // of the search: at least one, unless measure is empty
  std::vector<int> build;    // of the build workers: the rest, or all if they take turns with measuring
  bool takes_turns = false;  // building is held up while something is measured
};

// Splits the CPUs, in increasing order. Measuring alone on a CPU is what makes timings repeat. Where most
// CPUs measure, setting them apart would leave most of the machine idle for most of the time, because
// building a candidate takes longer than measuring it: there they build too, in turns.
CpuSplit split_cpus(const std::vector<int>& cpus, int threads);

// CPUs that this process may use, in order.
std::vector<int> allowed_cpus();

}  // namespace tf::tuner_cli
