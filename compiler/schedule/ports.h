#pragma once
// Owns: the layouts of a kernel's activations, which stand outside the computation's key and outside the
// schedule.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/tensor/workload.h"

namespace tf::schedule {

// One per workload input that is not constant, and one per output; empty lists mean row-major. Constants'
// layouts are the schedule's business.
struct PortLayouts {
  std::vector<tensor::Layout> inputs;
  std::vector<tensor::Layout> outputs;

  const tensor::Layout& output(size_t index) const;
  // The layout of workload.inputs[index]; row-major for a constant.
  const tensor::Layout& input(const tensor::Workload& workload, size_t index) const;
};

// A text for each port, or none at all for row-major. INVALID_ARGUMENT if there are others than the workload
// has ports, or one is no layout of its port.
absl::StatusOr<PortLayouts> parse_ports(const tensor::Workload& workload,
                                        const std::vector<std::string>& inputs,
                                        const std::vector<std::string>& outputs);

}  // namespace tf::schedule
