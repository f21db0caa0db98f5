#include "compiler/backends/cuda/cuda_backend.h"

#include <utility>

#include "base/status.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/backends/gpu/gpu_code.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::backends {
namespace {

bool accepts_cuda(const target::Target& target) {
  return target.arch == target::Arch::kCuda;
}

// PTX of an architecture with a suffix is for no other one.
bool has_suffix(const target::Target& target) {
  return target.cpu.ends_with('a') || target.cpu.ends_with('f');
}

absl::StatusOr<GpuBinary> compile_source(const std::string& source, const target::Target& target) {
  TF_ASSIGN_OR_RETURN(CudaCode code, compile_cuda(source, target));
  GpuBinary binary{.content = std::move(code.cubin), .others = {}, .resources = std::move(code.resources)};
  if (!has_suffix(target))
    binary.others.push_back({tunefarm::kernel::v1::BLOB_KIND_PTX, std::move(code.ptx)});
  return binary;
}

absl::StatusOr<Code> compile_cuda_kernel(const ir::Function& function, const target::Target& target,
                                         Use use) {
  return gpu_code(function, target, use, cuda_dialect(),
                  {.kind = tunefarm::kernel::v1::BLOB_KIND_CUBIN, .compile = compile_source});
}

absl::StatusOr<std::string> show_cuda_kernel(const ir::Function& function, const target::Target& target) {
  TF_ASSIGN_OR_RETURN(GpuSource source, gpu_source(function, target, cuda_dialect()));
  return std::move(source.text);
}

}  // namespace

Backend cuda_backend() {
  return {.name = "cuda",
          .accepts = accepts_cuda,
          .pipeline = passes::gpu_pipeline,
          .compile = compile_cuda_kernel,
          .show = show_cuda_kernel,
          .link = nullptr};
}

}  // namespace tf::backends
