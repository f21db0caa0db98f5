#include "compiler/backends/gpu/gpu_source.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "compiler/backends/gpu/index_width.h"
#include "compiler/backends/gpu/kernel_text.h"
#include "compiler/backends/gpu/kernels.h"
#include "compiler/ir/verify.h"

namespace tf::backends {

absl::StatusOr<GpuSource> gpu_source(const ir::Function& function, const target::Target& target,
                                     const GpuDialect& dialect) {
  TF_RETURN_IF_ERROR(ir::verify(function, {.flat = true, .explicit_vectors = true}));
  TF_ASSIGN_OR_RETURN(const KernelParts parts, split_into_kernels(function));
  if (parts.parts.empty()) return absl::FailedPreconditionError("the function does nothing");
  Unit unit{.function = function,
            .target = target,
            .dialect = dialect,
            .parts = parts,
            .narrow_indices = fits_narrow_indices(function),
            .helpers = Helpers(dialect),
            .vectors = {},
            .matrices = {}};
  GpuSource source{.workspace_bytes = parts.workspace_bytes};
  std::string kernels;
  for (size_t i = 0; i < parts.parts.size(); ++i) {
    // Not the function's own: `kernel` is a word of OpenCL C.
    const std::string name = absl::StrCat(function.name, "_", i);
    TF_ASSIGN_OR_RETURN(KernelText kernel, kernel_text(unit, parts.parts[i], name));
    kernels += kernel.text;
    source.launches.push_back(std::move(kernel.launch));
  }
  absl::StrAppend(&source.text, unit.helpers.doubles() ? dialect.doubles : "", dialect.prelude,
                  unit.vectors.text(dialect), unit.helpers.text(), unit.matrices.text(dialect), kernels);
  return source;
}

}  // namespace tf::backends
