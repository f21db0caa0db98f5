#pragma once
// Owns: from a kernel and a schedule to what a CUDA device loads, in this process. Does not know: networks, devices.

#include <string>

#include "absl/status/statusor.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/backends/gpu/gpu_source.h"
#include "compiler/ir/stmt.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::gpu_test {

struct KernelCode {
  ir::Function function;
  std::vector<tensor::Layout> layouts;  // of its parameters
  backends::GpuSource source;
  backends::CudaCode code;
  double lower_ms = 0, compile_ms = 0;
};

// Of a bound workload. Errors: those of lowering, printing and NVRTC.
absl::StatusOr<KernelCode> compile_kernel(const tensor::KernelSpec& kernel,
                                          const schedule::Schedule& schedule, const std::string& name);

}  // namespace tf::gpu_test
