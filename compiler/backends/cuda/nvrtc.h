#pragma once
// Owns: NVIDIA's run-time compiler, opened when it is first needed. Does not know: what the source computes.

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/backends/backend.h"
#include "compiler/target/target.h"

namespace tf::backends {

struct CudaCode {
  std::string cubin;                           // machine code of the architecture
  std::string ptx;                             // what a driver compiles for a later one
  std::map<std::string, Resources> resources;  // of each kernel, by name
  // Whether asynchronous matrix instructions wait for each other, since something touches their registers or these do not do.
  bool serializes_matrices = false;
};

// For the target's architecture. No GPU and no driver is needed. NOT_FOUND where libnvrtc is not installed;
// INVALID_ARGUMENT for an architecture that this NVRTC does not know; INTERNAL with the compiler's log if it rejects the
// source. NVRTC keeps process-wide state: call this in a build worker, from one thread.
absl::StatusOr<CudaCode> compile_cuda(const std::string& source, const target::Target& target);

// OK, or compile_cuda's NOT_FOUND.
absl::Status find_nvrtc();

}  // namespace tf::backends
