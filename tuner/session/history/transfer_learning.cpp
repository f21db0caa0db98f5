#include "tuner/session/history/transfer_learning.h"

#include <optional>
#include <utility>
#include <vector>

#include "tuner/session/history/transfer_source.h"

namespace tf::session {
namespace {

constexpr size_t kSuggestions = 4;  // to a task at a time: they take places of its own proposals

}  // namespace

void share_best(std::span<const std::unique_ptr<TaskState>> tasks) {
  std::vector<std::optional<TransferSource>> given;
  given.reserve(tasks.size());
  for (const auto& task : tasks) given.push_back(task->take_new_best());
  for (size_t to = 0; to < tasks.size(); ++to) {
    std::vector<TransferSource> others;
    for (size_t from = 0; from < tasks.size(); ++from)
      if (from != to && given[from]) others.push_back(*given[from]);
    if (!others.empty()) tasks[to]->suggest(carried_over(others, tasks[to]->space(), kSuggestions));
  }
}

}  // namespace tf::session
