#include "compiler/backends/cuda/cuda_backend.h"

#include "base/status.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/backends/gpu/gpu_code.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::backends {
namespace {

bool accepts(const target::Target& target) {
  return target.arch == target::Arch::kCuda;
}

absl::StatusOr<Code> compile_kernel(const ir::Function& function, const target::Target& target, Use use) {
  return gpu_code(function, target, use, cuda_dialect(),
                  {.kind = tunefarm::kernel::v1::BLOB_KIND_CUBIN, .compile = compile_cubin});
}

absl::StatusOr<std::string> show_kernel(const ir::Function& function, const target::Target& target) {
  TF_ASSIGN_OR_RETURN(GpuSource source, gpu_source(function, target, cuda_dialect()));
  return std::move(source.text);
}

}  // namespace

Backend cuda_backend() {
  return {.name = "cuda",
          .accepts = accepts,
          .pipeline = passes::gpu_pipeline,
          .compile = compile_kernel,
          .show = show_kernel,
          .link = nullptr};
}

}  // namespace tf::backends
