#pragma once
// Owns: NVIDIA's run-time compiler, which is loaded on first use. Does not know: what the source computes.

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/backends/backend.h"
#include "compiler/target/target.h"

namespace tf::backends {

struct CudaCode {
  std::string cubin;                           // machine code of the architecture
  std::string ptx;                             // for later architectures, compiled by the driver
  std::map<std::string, Resources> resources;  // of each kernel, by name
  // Whether the assembler serialises asynchronous matrix instructions, because their registers are accessed
  // or do not suffice.
  bool serializes_matrices = false;
};

// Compiles for the target's architecture; needs no GPU and no driver. NOT_FOUND if libnvrtc is not installed;
// INVALID_ARGUMENT if this NVRTC does not support the architecture; INTERNAL with the compiler's log if it
// rejects the source. NVRTC keeps process-wide state: call this in a build worker, from one thread.
absl::StatusOr<CudaCode> compile_cuda(const std::string& source, const target::Target& target);

// OK, or compile_cuda's NOT_FOUND.
absl::Status find_nvrtc();

}  // namespace tf::backends
