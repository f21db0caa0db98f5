#include "compiler/graph/task.h"

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
    if (!input.constant) task.in_layouts.emplace_back();
  }
  task.out_layouts.resize(lowered.workload.outputs.size());
  // The workload as its canonical text reads, so that a task is the same whatever the network calls its
  // dimensions.
  TF_ASSIGN_OR_RETURN(task.workload, tensor::parse_workload(tensor::canonical_text(lowered.workload)));
  task.workload.label = lowered.workload.label;
  for (size_t i = 0; i < task.workload.dims.size(); ++i) {
    task.binding[task.workload.dims[i].var->name] = lowered.binding.at(lowered.workload.dims[i].var->name);
  }
  return task;
}

std::string shape_text(const tensor::BufferNode& bound) {
  return absl::StrJoin(bound.extents, "x", [](std::string* out, const tensor::Expr& extent) {
    absl::StrAppend(out, tensor::as_int(extent).value_or(0));
  });
}

std::vector<std::string> layout_texts(const std::vector<tensor::Layout>& layouts) {
  std::vector<std::string> texts;
  for (const tensor::Layout& layout : layouts) texts.push_back(layout.text());
  return texts;
}

std::string task_key(const Task& task) {
  std::string key =
      absl::StrCat(tensor::workload_key(task.workload).hex(), "|", tensor::binding_text(task.binding));
  for (const auto* layouts : {&task.in_layouts, &task.out_layouts}) {
    absl::StrAppend(&key, "|");
    for (const tensor::Layout& layout : *layouts) absl::StrAppend(&key, layout.text(), ";");
  }
  return key;
}

}  // namespace tf::graph
