#include "compiler/backends/cuda/cuda_backend.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "compiler/backends/cuda/cuda_dialect.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "compiler/backends/gpu/gpu_source.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::backends {
namespace {

using Clock = std::chrono::steady_clock;

bool accepts(const target::Target& target) {
  return target.arch == target::Arch::kCuda;
}

absl::StatusOr<Code> compile_kernel(const ir::Function& function, const target::Target& target, Use use) {
  if (use != Use::kDevice)
    return absl::InvalidArgumentError(
        absl::StrCat("kernels for ", target.text(), " cannot be linked into a model library"));
  const Clock::time_point start = Clock::now();
  TF_ASSIGN_OR_RETURN(GpuSource source, gpu_source(function, target, cuda_dialect()));
  const Clock::time_point emitted = Clock::now();
  Code code;
  TF_ASSIGN_OR_RETURN(code.content, compile_cubin(source.text, target));
  code.phases = {{"emit", std::chrono::nanoseconds(emitted - start).count()},
                 {"machine", std::chrono::nanoseconds(Clock::now() - emitted).count()}};
  code.kind = tunefarm::kernel::v1::BLOB_KIND_CUBIN;
  code.launches = std::move(source.launches);
  code.workspace_bytes = static_cast<uint64_t>(source.workspace_bytes);
  code.digest = sha256(code.content).hex();
  return code;
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
