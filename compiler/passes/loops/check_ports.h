#pragma once
// Owns: whether port layouts fit a workload. Does not know: loops.

#include "absl/status/status.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::passes {

// INVALID_ARGUMENT if there are layouts, but not one a port, or one is of another rank.
absl::Status check_ports(const tensor::Workload& workload, const tensor::PortLayouts& ports);

}  // namespace tf::passes
