#include "tests/bench/kernels/kernel_task.h"

namespace tf::bench {
namespace {

// A feature map's layout; the rule of compiler/graph/layouts/layout_choice.h.
tensor::Layout feature_map(int64_t channels, int64_t extent, int64_t lanes, bool row_major) {
  if (row_major || lanes <= 1 || channels < lanes || extent == 1) return {};
  return tensor::Layout{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {1, lanes}}};
}

}  // namespace

session::Task task_of(const Kernel& kernel, const target::Target& target, bool row_major) {
  if (const auto* part = std::get_if<NetworkKernel>(&kernel.shape)) {
    session::Task task{
        .label = kernel.name,
        .kernel = {.workload = part->task.kernel.workload, .binding = part->task.kernel.binding}};
    if (row_major) return task;
    task.kernel.ports.inputs = part->task.kernel.ports.inputs;
    task.kernel.ports.outputs = part->task.kernel.ports.outputs;
    return task;
  }
  session::Task task{.label = kernel.name, .kernel = {.workload = workload_of(kernel)}};
  if (const auto* c = std::get_if<Convolution>(&kernel.shape)) {
    const int64_t lanes = target.fp32_lanes();
    task.kernel.ports.inputs = {feature_map(c->channels, c->extent, lanes, row_major)};
    task.kernel.ports.outputs = {feature_map(c->filters, c->output_extent(), lanes, row_major)};
  }
  return task;
}

}  // namespace tf::bench
