#pragma once
// Owns: compiling a function to the code that a device loads, for all dialects. Does not know: any dialect.

#include <map>
#include <string>
#include <vector>

#include "compiler/backends/gpu/gpu_source.h"

namespace tf::backends {

// The output of a dialect's compiler.
struct GpuBinary {
  std::string content;
  std::vector<CodeBlob> others;
  std::map<std::string, Resources> resources;  // by entry; empty if the compiler does not report them
};

// What a GPU back end defines besides its dialect.
struct GpuBlob {
  tunefarm::kernel::v1::BlobKind kind = {};
  // Compiles the source to the blob. Null: the source is the blob, and each device's driver compiles it.
  absl::StatusOr<GpuBinary> (*compile)(const std::string& source, const target::Target& target) = nullptr;
};

// Errors: those of gpu_source and of `blob`; INVALID_ARGUMENT for Use::kModel, because GPU kernels cannot be
// linked.
absl::StatusOr<Code> gpu_code(const ir::Function& function, const target::Target& target, Use use,
                              const GpuDialect& dialect, const GpuBlob& blob);

}  // namespace tf::backends
