#pragma once
// Owns: a kernel as build workers are asked for it. Does not know: who asks, what a worker does with it.

#include <string>

#include "compiler/tensor/kernel_spec.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::driver {

// The kernel between its layouts with that schedule, loadable by a device as "kernel". `target` and `schedule` are
// canonical texts; the spec's own target does not count.
tunefarm::kernel::v1::BuildRequest kernel_request(const tensor::KernelSpec& spec, const std::string& target,
                                                  const std::string& schedule);

// The reference of the kernel's answers: plain loops, row-major, with magnitudes.
tunefarm::kernel::v1::BuildRequest reference_request(const tensor::KernelSpec& spec,
                                                     const std::string& target);

}  // namespace tf::driver
