#include "compiler/graph/task_labels.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status.h"

namespace tf::graph {
namespace {

using Computation = std::pair<Digest, tensor::Binding>;

// Tasks of one label.
struct Namesakes {
  std::vector<Task*> tasks;
  std::vector<Computation> computations;  // theirs
};

// What may be added to a label, the shortest first.
constexpr size_t kWays = 3;
using Additions = std::array<std::string, kWays>;

absl::StatusOr<Additions> additions_of(const Task& task) {
  TF_ASSIGN_OR_RETURN(const tensor::Workload bound, tensor::bind(task.workload, task.binding));
  const auto operand = [&](const char* word, size_t number) {
    std::string text;
    if (number >= bound.inputs.size()) return text;
    for (const tensor::Expr& extent : bound.inputs[number].buffer->extents)
      absl::StrAppend(&text, text.empty() ? word : "x", tensor::as_int(extent).value_or(0));
    return text;
  };
  const std::string first = operand(" of ", 0), second = operand(" by ", 1);
  return Additions{first, second, first + second};
}

// Whether no two computations would have the same.
bool tells_apart(const Namesakes& namesakes, const std::vector<Additions>& additions, size_t way) {
  std::map<std::string, Computation> called;
  for (size_t i = 0; i < additions.size(); ++i) {
    const auto& computation = namesakes.computations[i];
    if (called.try_emplace(additions[i][way], computation).first->second != computation) return false;
  }
  return true;
}

absl::Status tell_apart(const Namesakes& namesakes) {
  const std::set<Computation> distinct(namesakes.computations.begin(), namesakes.computations.end());
  if (distinct.size() < 2) return absl::OkStatus();
  std::vector<Additions> additions;
  for (const Task* task : namesakes.tasks) {
    TF_ASSIGN_OR_RETURN(additions.emplace_back(), additions_of(*task));
  }
  size_t way = 0;
  while (way + 1 < kWays && !tells_apart(namesakes, additions, way)) ++way;
  for (size_t i = 0; i < additions.size(); ++i) namesakes.tasks[i]->label += additions[i][way];
  return absl::OkStatus();
}

}  // namespace

absl::Status tell_apart(std::vector<Task>& tasks, std::vector<Task>& alternatives) {
  std::map<std::string, Namesakes> by_label;
  for (std::vector<Task>* list : {&tasks, &alternatives}) {
    for (Task& task : *list) {
      Namesakes& namesakes = by_label[task.label];
      namesakes.tasks.push_back(&task);
      namesakes.computations.emplace_back(tensor::workload_key(task.workload), task.binding);
    }
  }
  for (const auto& [label, namesakes] : by_label) TF_RETURN_IF_ERROR(tell_apart(namesakes));
  for (Task& task : alternatives) task.label += ", laid out otherwise";
  return absl::OkStatus();
}

}  // namespace tf::graph
