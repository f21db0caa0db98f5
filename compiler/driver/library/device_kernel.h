#pragma once
// Owns: a kernel for a device as a model's tables have it, from what a build worker returns. Does not know: who compiles it.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/driver/model_tables.h"
#include "compiler/target/target.h"
#include "compiler/tensor/workload.h"
#include "proto/kernel/v1/kernel.pb.h"

namespace tf::driver {

// Whether kernels for the target run on a device beside the processor that runs the model.
bool is_for_device(const target::Target& target);

// The runtime's function for the target's devices (compiler/runtime/device/device.h), or "".
std::string device_function_of(const target::Target& target);

// Of a kernel for all values of these dimensions; none: its sizes are fixed. FAILED_PRECONDITION for what the tables cannot hold:
// launches of sizes that the runtime cannot compute or too many threads, code of another kind.
absl::StatusOr<DeviceKernel> device_kernel(tunefarm::kernel::v1::Artifact artifact,
                                           const std::vector<tensor::Dimension>& dims = {});

}  // namespace tf::driver
