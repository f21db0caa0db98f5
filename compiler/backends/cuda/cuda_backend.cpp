#include "compiler/backends/cuda/cuda_backend.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"
#include "compiler/backends/cuda/cuda_source.h"
#include "compiler/backends/cuda/nvrtc.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::backends {
namespace {

using Clock = std::chrono::steady_clock;

// OpenCL targets are lowered alike, which `show` uses; cuda_source() refuses them.
bool accepts(const target::Target& target) {
  return target.arch == target::Arch::kCuda || target.arch == target::Arch::kOpenCl;
}

absl::StatusOr<Code> compile_kernel(const ir::Function& function, const target::Target& target, Use use) {
  if (use != Use::kDevice)
    return absl::InvalidArgumentError(
        absl::StrCat("kernels for ", target.text(), " cannot be linked into a model library"));
  const Clock::time_point start = Clock::now();
  TF_ASSIGN_OR_RETURN(const CudaSource source, cuda_source(function, target));
  const Clock::time_point emitted = Clock::now();
  Code code;
  TF_ASSIGN_OR_RETURN(code.content, compile_cubin(source.text, target));
  code.phases = {{"emit", std::chrono::nanoseconds(emitted - start).count()},
                 {"machine", std::chrono::nanoseconds(Clock::now() - emitted).count()}};
  code.kind = tunefarm::kernel::v1::BLOB_KIND_CUBIN;
  code.grid.assign(source.grid.begin(), source.grid.end());
  for (const int64_t threads : source.block) code.block.push_back(absl::StrCat(threads));
  code.shared_bytes = absl::StrCat(source.shared_bytes);
  code.digest = sha256(code.content).hex();
  return code;
}

absl::StatusOr<std::string> show_kernel(const ir::Function& function, const target::Target& target) {
  TF_ASSIGN_OR_RETURN(CudaSource source, cuda_source(function, target));
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
