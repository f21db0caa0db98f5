#pragma once
// Owns: a loop-IR function as C source for GPUs, with its launches. Does not know: compilers of the source,
// schedules, devices.

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
  std::vector<Launch> launches;  // in order
  int64_t workspace_bytes = 0;   // device memory, 256-byte aligned, undefined before the first launch
};

// `function` is an output of gpu_pipeline(). All kernels have the same parameters: pointers to the function's
// parameters in order (const if no kernel stores to them), a pointer to the workspace if there is one, and
// the dims as 64-bit integers. Pointers are at least 16-byte aligned. A part of the function without grid and
// thread loops is a kernel of one thread. If the device has no asynchronous copies, copies are made
// immediately.
//
// FAILED_PRECONDITION if a part does not fit one launch: more than one nest of grid and thread loops; a loop
// around a grid loop; a store outside the nest; scratch memory that belongs to neither one thread nor one
// block; or more threads or shared memory than the target has. UNIMPLEMENTED for dot products.
absl::StatusOr<GpuSource> gpu_source(const ir::Function& function, const target::Target& target,
                                     const GpuDialect& dialect);

}  // namespace tf::backends
