#pragma once
// Owns: what `compiler bench --profile` finds out: the times of a network's kernels beside what the machine can do. Does not
// know: how it is shown.

#include <string>
#include <vector>

#include "compiler/driver/loaded_model.h"

namespace tf::compiler_cli {

struct KernelRow {
  std::string name, key;
  double median_ns = 0;
  double flops = 0, bytes = 0;  // of one run, as the operator is defined
  double share = 0;             // of the time of all kernels
  double of_peak = 0;
  double gflops() const { return flops / median_ns; }  // a second
};

struct Profile {
  std::string device;  // "opencl:0" of a model that runs on a GPU, whose own clock gives times; else empty
  double peak_gflops = 0;      // of all threads: multiply-adds from registers; 0: not known, as of a GPU
  double memory_gb_per_s = 0;  // read by all threads from memory; 0: not known
  double total_ms = 0;         // of the kernels' medians: what the network's lacks is spent between kernels
  std::vector<KernelRow> kernels;  // in order of execution
};

// Of a model that ran after profile(). Measures the machine, unless a GPU runs the model, which takes some tenths of a second.
Profile profile_of(const driver::LoadedModel& model, int threads);

// Of samples in order, by the nearest rank.
double percentile(const std::vector<double>& sorted, double share);
std::vector<double> sorted(std::vector<double> samples);

}  // namespace tf::compiler_cli
