#pragma once
// Owns: from a function to what a device loads, the same for all dialects. Does not know: any dialect.

#include <map>
#include <string>
#include <vector>

#include "compiler/backends/gpu/gpu_source.h"

namespace tf::backends {

// What a compiler makes of a source.
struct GpuBinary {
  std::string content;
  std::vector<CodeBlob> others;
  std::map<std::string, Resources> resources;  // by entry; none: the compiler does not tell
};

// In what a back end for GPUs differs beside its dialect.
struct GpuBlob {
  tunefarm::kernel::v1::BlobKind kind = {};
  // Makes the blob of the source; null: the source is the blob, and each device's driver compiles it for itself.
  absl::StatusOr<GpuBinary> (*compile)(const std::string& source, const target::Target& target) = nullptr;
};

// Errors: gpu_source's and the blob's; INVALID_ARGUMENT for a model, into which no such kernel can be linked.
absl::StatusOr<Code> gpu_code(const ir::Function& function, const target::Target& target, Use use,
                              const GpuDialect& dialect, const GpuBlob& blob);

}  // namespace tf::backends
