#include "compiler/backends/backends.h"

#include "absl/strings/str_cat.h"
#include "compiler/backends/cuda/cuda_backend.h"
#include "compiler/backends/llvm/llvm_backend.h"
#include "compiler/backends/opencl/opencl_backend.h"

namespace tf::backends {

std::span<const Backend> all_backends() {
  static const Backend kBackends[] = {
      llvm_backend(),
      cuda_backend(),
      opencl_backend(),
  };
  return kBackends;
}

absl::StatusOr<const Backend*> backend_for(const target::Target& target) {
  for (const Backend& backend : all_backends())
    if (backend.accepts(target)) return &backend;
  return absl::UnimplementedError(
      absl::StrCat("no back end compiles for target ", target.text(), " yet; see `compiler kernel --help`"));
}

}  // namespace tf::backends
