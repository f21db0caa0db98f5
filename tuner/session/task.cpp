#include "tuner/session/task.h"

#include "absl/strings/str_cat.h"

namespace tf::session {

std::vector<std::string> input_layout_texts(const Task& task) {
  std::vector<std::string> texts;
  for (const tensor::Layout& layout : task.in_layouts) texts.push_back(layout.text());
  return texts;
}

std::vector<std::string> output_layout_texts(const Task& task) {
  std::vector<std::string> texts;
  for (const tensor::Layout& layout : task.out_layouts) texts.push_back(layout.text());
  return texts;
}

database::Problem problem_of(const Task& task, const std::string& target, int threads) {
  database::Problem problem;
  problem.workload = database::WorkloadKey{tensor::workload_key(task.workload)};
  problem.binding = tensor::binding_text(tensor::canonical_binding(task.workload, task.binding));
  problem.in_layouts = input_layout_texts(task);
  problem.out_layouts = output_layout_texts(task);
  problem.target = target;
  problem.threads = static_cast<uint32_t>(threads);
  problem.reuse_distance_bytes = task.reuse_distance_bytes;
  return problem;
}

}  // namespace tf::session
