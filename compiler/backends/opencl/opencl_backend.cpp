#include "compiler/backends/opencl/opencl_backend.h"

#include "base/status.h"
#include "compiler/backends/gpu/gpu_code.h"
#include "compiler/backends/opencl/opencl_dialect.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::backends {
namespace {

bool accepts_opencl(const target::Target& target) {
  return target.arch == target::Arch::kOpenCl;
}

absl::StatusOr<Code> compile_opencl(const ir::Function& function, const target::Target& target, Use use) {
  return gpu_code(function, target, use, opencl_dialect(),
                  {.kind = tunefarm::kernel::v1::BLOB_KIND_OPENCL_C});
}

absl::StatusOr<std::string> show_opencl(const ir::Function& function, const target::Target& target) {
  TF_ASSIGN_OR_RETURN(GpuSource source, gpu_source(function, target, opencl_dialect()));
  return std::move(source.text);
}

}  // namespace

Backend opencl_backend() {
  return {.name = "opencl",
          .accepts = accepts_opencl,
          .pipeline = passes::gpu_pipeline,
          .compile = compile_opencl,
          .show = show_opencl,
          .link = nullptr};
}

}  // namespace tf::backends
