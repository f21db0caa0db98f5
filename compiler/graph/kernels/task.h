#pragma once
// Owns: Task, one distinct kernel of a network: what a tuner tunes and a builder builds. Does not know:
// schedules.

#include <string>
#include <vector>

#include "compiler/graph/kernels/lower_group.h"
#include "compiler/tensor/kernel_spec.h"

namespace tf::graph {

struct Task {
  // "conv2d+bias+relu 1x64x56x56": operators and the result's shape, for people; more of it among namesakes
  // (task_labels.h).
  std::string label;
  // With canonical names: inputs p0, …, dimensions d0, …. A network is planned before target and threads are known.
  tensor::KernelSpec kernel;
  double flops = 0;                // of one run
  double bytes = 0;                // compulsory: every operand and result once
  int64_t count = 0;               // runs in the network
  std::vector<std::string> nodes;  // the model's names of what it computes, one a run
  // Of a kernel for all sizes: the kernel at single sizes, whose schedules suit it, the most telling first.
  std::vector<tensor::KernelSpec> at_sizes;
};

// Without layouts, count, reuse distance and nodes.
absl::StatusOr<Task> make_task(LoweredGroup lowered);

// "1x64x56x56"; nothing for a scalar. `bound` is of a workload whose dimensions are bound (tensor::bind).
std::string shape_text(const tensor::BufferNode& bound);

// Equal for tasks that one kernel can serve: computation, binding and layouts.
std::string task_key(const Task& task);

}  // namespace tf::graph
