#include "tests/gpu/kernel_code.h"

#include <chrono>
#include <utility>

#include "base/status.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/passes/lower.h"

namespace tf::gpu_test {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

absl::StatusOr<KernelCode> compile_kernel(const tensor::KernelSpec& kernel,
                                          const schedule::Schedule& schedule, const std::string& name) {
  KernelCode made;
  const Clock::time_point start = Clock::now();
  passes::LowerOptions options{.name = name, .pipeline = passes::gpu_pipeline()};
  TF_ASSIGN_OR_RETURN(passes::Lowered lowered,
                      passes::lower(kernel.workload, schedule, kernel.ports, options));
  TF_ASSIGN_OR_RETURN(made.source,
                      backends::gpu_source(lowered.function, kernel.target, backends::cuda_dialect()));
  made.lower_ms = ms_since(start);
  const Clock::time_point printed = Clock::now();
  TF_ASSIGN_OR_RETURN(made.code, backends::compile_cuda(made.source.text, kernel.target));
  made.compile_ms = ms_since(printed);
  made.function = std::move(lowered.function);
  made.layouts = std::move(lowered.param_layouts);
  return made;
}

}  // namespace tf::gpu_test
