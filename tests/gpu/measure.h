#pragma once
// Owns: one case on a device: its buffers, a run, its time; and the device's own rates. Does not know: other libraries.

#include <string>
#include <vector>

#include "compiler/runtime/gpu/gpu.h"
#include "tests/gpu/cases.h"

namespace tf::gpu_test {

class Running {
 public:
  // Runs it once.
  Running(gpu::Device* device, const Case& one);
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  const std::string& error() const { return error_; }
  // What differs from the right answer; empty: nothing.
  std::string first_difference();
  // Of a product: some elements against sums in doubles.
  std::string probe_product();
  // The best of groups of runs that together take about `budget_ns`, after as much to warm up; by graphs where runs are short. 0: error().
  double time_ns(double budget_ns);
  // As the driver's library has them.
  uint64_t address(size_t port) const { return addresses_[port]; }

 private:
  bool fail(const char* error);
  bool launch_all();
  double time_group(int runs);
  bool download(size_t port, std::string* bytes);

  const gpu::Driver& driver_ = gpu::cuda_driver();
  gpu::Device* const device_;
  const Case& case_;
  std::string error_;
  gpu::Program* program_ = nullptr;
  std::vector<gpu::Memory*> memory_;
  std::vector<uint64_t> addresses_;
  std::vector<gpu::Kernel*> kernels_;
};

double peak_gflops(gpu::Device* device, const gpu::Facts& facts);
// Bytes that are read and written.
double copy_gbytes_per_s(gpu::Device* device);

}  // namespace tf::gpu_test
