#pragma once
// Owns: which CPUs of this machine measure and which search and build, when both happen here. Does not know:
// what runs on them.

#include <vector>

namespace tf::tuner_cli {

struct CpuSplit {
  std::vector<int> measure;  // the last `threads` CPUs; empty: too few CPUs to set any apart
  std::vector<int> rest;     // at least one, unless measure is empty
};

// Splits the CPUs, in increasing order; measuring alone on a CPU is what makes timings repeat.
CpuSplit split_cpus(const std::vector<int>& cpus, int threads);

// CPUs that this process may use, in order.
std::vector<int> allowed_cpus();

// Keeps this thread, and the threads and processes that it will start, on these CPUs. What cannot be set is
// left.
void stay_on(const std::vector<int>& cpus);

}  // namespace tf::tuner_cli
