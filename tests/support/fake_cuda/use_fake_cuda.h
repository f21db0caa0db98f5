#pragma once
// Owns: that this process, and those that it starts from now on, find the fake libraries of CUDA. Does not know: what for.

#include <string>

#include "absl/status/statusor.h"

namespace tf::test {

// Once, before the first use of either library; call it first thing in a test program.
void use_fake_cuda();

// Where they lie.
std::string fake_cuda_folder();

// Has the fakes of processes that start from now on read a variable of README.md; empty: no longer.
void tell_fake_cuda(const std::string& variable, const std::string& value);

// CUDA C as the fake driver's "cubin": what the fake NVRTC makes of it, for 9.0. INTERNAL with the compiler's log.
absl::StatusOr<std::string> fake_cubin(const std::string& source);

}  // namespace tf::test
