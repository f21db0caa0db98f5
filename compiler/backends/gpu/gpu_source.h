#pragma once
// Owns: a loop-IR function as C for GPUs, and how it is launched. Does not know: who compiles the text, schedules, devices.

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/backends/backend.h"
#include "compiler/backends/gpu/dialect.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace tf::backends {

struct GpuSource {
  std::string text;              // one translation unit
  std::vector<Launch> launches;  // to be run one after another
  int64_t workspace_bytes = 0;   // of device memory, 256-byte aligned, undefined before the first launch
};

// Of what gpu_pipeline() yields. Each kernel has the same parameters: pointers to the function's parameters in their order, const
// where no kernel stores; a pointer to the workspace, if there is one; the dims as 64-bit integers. Pointers are at least
// 16-byte aligned. A part of the function without grid and thread loops is a kernel of one thread.
//
// FAILED_PRECONDITION where a part does not fit one launch: more than one nest of grid and thread loops, a loop around a grid
// loop, a store outside of the nest, scratch memory that neither one thread nor one block has for itself, or more threads or shared memory than
// the target has. UNIMPLEMENTED for dot products. Asynchronous copies are made at once where the device has none.
absl::StatusOr<GpuSource> gpu_source(const ir::Function& function, const target::Target& target,
                                     const GpuDialect& dialect);

}  // namespace tf::backends
