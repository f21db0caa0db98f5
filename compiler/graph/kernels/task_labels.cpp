#include "compiler/graph/kernels/task_labels.h"

#include <array>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace tf::graph {
namespace {

// What may be added to a label, the shortest first.
constexpr size_t kWays = 3;
using Additions = std::array<std::string, kWays>;

absl::StatusOr<Additions> additions_of(const Task& task) {
  TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(task.kernel.workload, task.kernel.binding));
  const auto operand = [&](const char* word, size_t number) {
    const std::string shape = number < bound.inputs.size() ? shape_text(*bound.inputs[number].buffer) : "";
    return shape.empty() ? shape : absl::StrCat(word, shape);
  };
  const std::string first = operand(" of ", 0), second = operand(" by ", 1);
  return Additions{first, second, first + second};
}

// How many names there would be.
size_t names(const std::vector<Additions>& additions, size_t way) {
  std::set<std::string> distinct;
  for (const Additions& each : additions) distinct.insert(each[way]);
  return distinct.size();
}

// Tasks of one label. Those that compute the same read the same, too.
absl::Status tell_apart(const std::vector<Task*>& namesakes) {
  if (namesakes.size() < 2) return absl::OkStatus();
  std::vector<Additions> additions;
  for (const Task* task : namesakes) {
    TF_ASSIGN_OR_RETURN(additions.emplace_back(), additions_of(*task));
  }
  size_t way = 0;
  for (size_t other = 1; other < kWays; ++other)
    if (names(additions, other) > names(additions, way)) way = other;
  if (names(additions, way) == 1) return absl::OkStatus();
  for (size_t i = 0; i < additions.size(); ++i) namesakes[i]->label += additions[i][way];
  return absl::OkStatus();
}

}  // namespace

absl::Status tell_apart(std::vector<Task>& tasks, std::vector<Task>& alternatives) {
  std::map<std::string, std::vector<Task*>> by_label;
  for (std::vector<Task>* list : {&tasks, &alternatives})
    for (Task& task : *list) by_label[task.label].push_back(&task);
  for (const auto& [label, namesakes] : by_label) TF_RETURN_IF_ERROR(tell_apart(namesakes));
  for (Task& task : alternatives) task.label += " (alternative layout)";
  return absl::OkStatus();
}

}  // namespace tf::graph
