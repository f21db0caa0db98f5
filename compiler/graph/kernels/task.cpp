#include "compiler/graph/kernels/task.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace tf::graph {

absl::StatusOr<Task> make_task(LoweredGroup lowered) {
  Task task;
  TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(lowered.workload, lowered.binding));
  task.label = lowered.workload.label;
  if (const std::string shape = shape_text(*bound.outputs[0]); !shape.empty())
    absl::StrAppend(&task.label, " ", shape);
  task.flops = tensor::count_flops(bound);
  task.bytes = tensor::count_bytes(bound);
  for (const tensor::Input& input : lowered.workload.inputs) {
    if (!input.constant) task.kernel.ports.inputs.emplace_back();
  }
  task.kernel.ports.outputs.resize(lowered.workload.outputs.size());
  // The workload as its canonical text reads, so that a task is the same whatever the network calls its
  // dimensions.
  TF_ASSIGN_OR_RETURN(task.kernel.workload, tensor::parse_workload(tensor::canonical_text(lowered.workload)));
  task.kernel.workload.label = lowered.workload.label;
  for (size_t i = 0; i < task.kernel.workload.dims.size(); ++i) {
    task.kernel.binding[task.kernel.workload.dims[i].var->name] =
        lowered.binding.at(lowered.workload.dims[i].var->name);
  }
  return task;
}

std::string shape_text(const tensor::BufferNode& bound) {
  return absl::StrJoin(bound.extents, "x", [](std::string* out, const tensor::Expr& extent) {
    absl::StrAppend(out, tensor::as_int(extent).value_or(0));
  });
}

std::string task_key(const Task& task) {
  tensor::KernelKey key = tensor::key_of(task.kernel);
  key.reuse_distance_bytes = 0;
  return tensor::to_string(key);
}

}  // namespace tf::graph
