#pragma once
// Owns: NVIDIA's run-time compiler, opened when it is first needed. Does not know: what the source computes.

#include <string>

#include "absl/status/statusor.h"
#include "compiler/target/target.h"

namespace tf::backends {

// Machine code (a cubin) for the target's architecture. No GPU and no driver is needed. NOT_FOUND where
// libnvrtc is not installed; INVALID_ARGUMENT for an architecture that this NVRTC does not know; INTERNAL
// with the compiler's log if it rejects the source. NVRTC keeps process-wide state: call this in a build
// worker, from one thread.
absl::StatusOr<std::string> compile_cubin(const std::string& source, const target::Target& target);

// OK, or compile_cubin's NOT_FOUND.
absl::Status find_nvrtc();

}  // namespace tf::backends
