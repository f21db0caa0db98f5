#pragma once
// Owns: the text and the launch of one kernel. Does not know: the other kernels of its function.

#include <string>

#include "absl/status/statusor.h"
#include "compiler/backends/backend.h"
#include "compiler/backends/gpu/helpers.h"
#include "compiler/backends/gpu/kernels.h"
#include "compiler/backends/gpu/matrix_text.h"
#include "compiler/backends/gpu/vector_types.h"
#include "compiler/target/target.h"

namespace tf::backends {

// The state that the kernels of a translation unit share.
struct Unit {
  const ir::Function& function;
  const target::Target& target;
  const GpuDialect& dialect;
  const KernelParts& parts;
  bool narrow_indices = false;
  Helpers helpers;
  VectorTypes vectors;
  MatrixFunctions matrices;
};

struct KernelText {
  std::string text;
  Launch launch;
};

// Errors as gpu_source().
absl::StatusOr<KernelText> kernel_text(Unit& unit, const KernelPart& part, const std::string& name);

}  // namespace tf::backends
