#include "compiler/backends/opencl/opencl_backend.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "compiler/backends/gpu/gpu_source.h"
#include "compiler/backends/opencl/opencl_dialect.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::backends {
namespace {

bool accepts(const target::Target& target) {
  return target.arch == target::Arch::kOpenCl;
}

// The source is what travels: each device's driver compiles it for itself.
absl::StatusOr<Code> compile_kernel(const ir::Function& function, const target::Target& target, Use use) {
  if (use != Use::kDevice)
    return absl::InvalidArgumentError(
        absl::StrCat("kernels for ", target.text(), " cannot be linked into a model library"));
  const auto start = std::chrono::steady_clock::now();
  TF_ASSIGN_OR_RETURN(GpuSource source, gpu_source(function, target, opencl_dialect()));
  Code code;
  code.phases = {{"emit", std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count()}};
  code.kind = tunefarm::kernel::v1::BLOB_KIND_OPENCL_C;
  code.content = std::move(source.text);
  code.launches = std::move(source.launches);
  code.workspace_bytes = static_cast<uint64_t>(source.workspace_bytes);
  code.digest = sha256(code.content).hex();
  return code;
}

absl::StatusOr<std::string> show_kernel(const ir::Function& function, const target::Target& target) {
  TF_ASSIGN_OR_RETURN(GpuSource source, gpu_source(function, target, opencl_dialect()));
  return std::move(source.text);
}

}  // namespace

Backend opencl_backend() {
  return {.name = "opencl",
          .accepts = accepts,
          .pipeline = passes::gpu_pipeline,
          .compile = compile_kernel,
          .show = show_kernel,
          .link = nullptr};
}

}  // namespace tf::backends
